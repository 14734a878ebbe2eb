import { rememberRecent } from './recent.ts';

/**
 * Token buckets, each stored as one instant: when its debt is repaid, which is when the bucket is full again. Each use moves the instant
 * into the future by `everyMs`; an instant in the past is no debt. The clock is read in whole milliseconds, so that sums are exact and
 * rounding never refuses the last use of a burst.
 */

/** `burst` uses at once, and one more per `everyMs`. */
export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** When the debt is repaid after a use that takes `cost` tokens. `repaidAtMs`: when it is repaid without this use; absent: no debt. */
export function debtAfter(
  repaidAtMs: number | undefined,
  { everyMs }: Pick<Rate, 'everyMs'>,
  nowMs: number,
  cost = 1,
): number {
  return Math.max(repaidAtMs ?? 0, Math.floor(nowMs)) + cost * everyMs;
}

/** The time until a debt is no larger than a burst; 0 or less if it is not larger now. */
export function overMs(repaidAtMs: number, { burst, everyMs }: Rate, nowMs: number): number {
  return repaidAtMs - (Math.floor(nowMs) + burst * everyMs);
}

/** Token buckets by name, in memory. Beyond `namesMax`, the least recently used is forgotten. Each name must always have the same rate. */
export class RateDebts {
  readonly #repaidAtMs;

  constructor(namesMax: number) {
    this.#repaidAtMs = rememberRecent<number>(namesMax);
  }

  /** Returns 0 if one more use is allowed, or the time until it is. Takes nothing. */
  waitMs(name: string, rate: Rate, nowMs: number): number {
    return Math.max(overMs(debtAfter(this.#repaidAtMs.get(name), rate, nowMs), rate, nowMs), 0);
  }

  count(name: string, rate: Rate, nowMs: number): void {
    this.#repaidAtMs.set(name, debtAfter(this.#repaidAtMs.get(name), rate, nowMs));
  }

  /** Takes one use. Returns 0, or the time until a use is allowed; then nothing is taken. */
  take(name: string, rate: Rate, nowMs: number): number {
    return countAll([[this, name, rate]], nowMs);
  }

  /** Returns one use that was counted. */
  giveBack(name: string, { everyMs }: Rate): void {
    const repaidAtMs = this.#repaidAtMs.get(name);
    if (repaidAtMs !== undefined) this.#repaidAtMs.set(name, repaidAtMs - everyMs);
  }

  forget(name: string): void {
    this.#repaidAtMs.delete(name);
  }
}

export type Counted = readonly [debts: RateDebts, name: string, rate: Rate];

/** Takes one use from each bucket. Returns 0, or the time until all of them allow it; then nothing is taken from any. */
export function countAll(all: readonly Counted[], nowMs: number): number {
  const waitMs = Math.max(...all.map(([debts, name, rate]) => debts.waitMs(name, rate, nowMs)));
  if (waitMs > 0) return waitMs;
  for (const [debts, name, rate] of all) debts.count(name, rate, nowMs);
  return 0;
}
