import { rememberRecent } from './recent.ts';

/**
 * Token buckets. Each is stored as one instant, at which its debt is repaid and the bucket is full again. Each use moves the instant into
 * the future by `everyMs`; an instant in the past means no debt. The clock is read in whole milliseconds, so that sums are exact and
 * rounding never refuses the last use of a burst.
 */

/** Allows `burst` uses at once, and one more per `everyMs`. */
export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/**
 * Returns when the debt is repaid after a use that costs `cost` tokens. `repaidAtMs`: when it is repaid without this use; absent: no debt.
 */
export function debtAfter(
  repaidAtMs: number | undefined,
  { everyMs }: Pick<Rate, 'everyMs'>,
  nowMs: number,
  cost = 1,
): number {
  return Math.max(repaidAtMs ?? 0, Math.floor(nowMs)) + cost * everyMs;
}

/** Returns the time in milliseconds until a debt is no larger than a burst; 0 or less if it already is not. */
export function overMs(repaidAtMs: number, { burst, everyMs }: Rate, nowMs: number): number {
  return repaidAtMs - (Math.floor(nowMs) + burst * everyMs);
}

/**
 * Token buckets by name, in memory. If there are more than `namesMax`, the least recently used one is forgotten. The rate of a name must
 * always be the same.
 */
export class RateDebts {
  readonly #repaidAtMs;

  constructor(namesMax: number) {
    this.#repaidAtMs = rememberRecent<number>(namesMax);
  }

  /** Returns 0 if one more use is allowed, otherwise the time in milliseconds until it is. Does not count a use. */
  waitMs(name: string, rate: Rate, nowMs: number): number {
    return Math.max(overMs(debtAfter(this.#repaidAtMs.get(name), rate, nowMs), rate, nowMs), 0);
  }

  count(name: string, rate: Rate, nowMs: number): void {
    this.#repaidAtMs.set(name, debtAfter(this.#repaidAtMs.get(name), rate, nowMs));
  }

  /** Counts one use and returns 0 if it is allowed. Otherwise returns the time in milliseconds until it is, and counts nothing. */
  take(name: string, rate: Rate, nowMs: number): number {
    return countAll([[this, name, rate]], nowMs);
  }

  /** Takes back one counted use. */
  giveBack(name: string, { everyMs }: Rate): void {
    const repaidAtMs = this.#repaidAtMs.get(name);
    if (repaidAtMs !== undefined) this.#repaidAtMs.set(name, repaidAtMs - everyMs);
  }

  forget(name: string): void {
    this.#repaidAtMs.delete(name);
  }
}

export type Counted = readonly [debts: RateDebts, name: string, rate: Rate];

/**
 * Counts one use in each bucket and returns 0 if all of them allow it. Otherwise returns the time in milliseconds until they do, and counts
 * nothing.
 */
export function countAll(all: readonly Counted[], nowMs: number): number {
  const waitMs = Math.max(...all.map(([debts, name, rate]) => debts.waitMs(name, rate, nowMs)));
  if (waitMs > 0) return waitMs;
  for (const [debts, name, rate] of all) debts.count(name, rate, nowMs);
  return 0;
}
