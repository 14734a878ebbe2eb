import { rememberRecent } from './recent.ts';

/**
 * This file implements token buckets. A bucket is stored as the time at which its debt is repaid, so that it is full. Each use delays this
 * time by `everyMs`. The clock is read in whole milliseconds, so sums are exact and rounding never refuses the last use of a burst.
 */

/** A rate limit: `burst` uses at once, and one more per `everyMs`. */
export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** Returns when the debt is repaid after a use of `cost` tokens. `repaidAtMs`: when it is repaid without this use; absent: no debt. */
export function debtAfter(
  repaidAtMs: number | undefined,
  { everyMs }: Pick<Rate, 'everyMs'>,
  nowMs: number,
  cost = 1,
): number {
  return Math.max(repaidAtMs ?? 0, Math.floor(nowMs)) + cost * everyMs;
}

/** Returns the milliseconds until the debt is at most a burst; 0 or less if it already is. */
export function overMs(repaidAtMs: number, { burst, everyMs }: Rate, nowMs: number): number {
  return repaidAtMs - (Math.floor(nowMs) + burst * everyMs);
}

/** Token buckets by name. Above `namesMax`, the least recently used one is forgotten. A name must always have the same rate. */
export class RateDebts {
  readonly #repaidAtMs;

  constructor(namesMax: number) {
    this.#repaidAtMs = rememberRecent<number>(namesMax);
  }

  /** Returns the milliseconds until one more use is allowed; 0: now. Counts nothing. */
  waitMs(name: string, rate: Rate, nowMs: number): number {
    return Math.max(overMs(debtAfter(this.#repaidAtMs.get(name), rate, nowMs), rate, nowMs), 0);
  }

  count(name: string, rate: Rate, nowMs: number): void {
    this.#repaidAtMs.set(name, debtAfter(this.#repaidAtMs.get(name), rate, nowMs));
  }

  /** Counts a use and returns 0 if it is allowed. Otherwise counts nothing and returns the milliseconds until it is. */
  take(name: string, rate: Rate, nowMs: number): number {
    return countAll([[this, name, rate]], nowMs);
  }

  giveBack(name: string, { everyMs }: Rate): void {
    const repaidAtMs = this.#repaidAtMs.get(name);
    if (repaidAtMs !== undefined) this.#repaidAtMs.set(name, repaidAtMs - everyMs);
  }

  forget(name: string): void {
    this.#repaidAtMs.delete(name);
  }
}

export type Counted = readonly [debts: RateDebts, name: string, rate: Rate];

/** Counts a use in every bucket and returns 0 if all allow it. Otherwise counts nothing and returns the milliseconds until they do. */
export function countAll(all: readonly Counted[], nowMs: number): number {
  const waitMs = Math.max(...all.map(([debts, name, rate]) => debts.waitMs(name, rate, nowMs)));
  if (waitMs > 0) return waitMs;
  for (const [debts, name, rate] of all) debts.count(name, rate, nowMs);
  return 0;
}
