import { rememberRecent } from './recent.ts';

/**
 * A rate and what somebody has used of it, kept as one instant: when that is repaid. Each use puts the instant off by
 * `everyMs`; one that has passed is no debt. Whole milliseconds, so that sums are exact and the last of a burst is not
 * refused for a rounding.
 */

/** `burst` at once, and one more each time that `everyMs` has passed. */
export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** When everything is repaid after a use that counts for `cost`. `repaidAtMs`: when it is without; absent: there is no debt. */
export function debtAfter(
  repaidAtMs: number | undefined,
  { everyMs }: Pick<Rate, 'everyMs'>,
  nowMs: number,
  cost = 1,
): number {
  return Math.max(repaidAtMs ?? 0, Math.floor(nowMs)) + cost * everyMs;
}

/** How long until a debt is no more than a burst; 0 or less if it is not. */
export function overMs(repaidAtMs: number, { burst, everyMs }: Rate, nowMs: number): number {
  return repaidAtMs - (Math.floor(nowMs) + burst * everyMs);
}

/** Debts of so many names in memory; beyond them the least recently used is forgotten. Each name has one rate. */
export class RateDebts {
  readonly #repaidAtMs;

  constructor(namesMax: number) {
    this.#repaidAtMs = rememberRecent<number>(namesMax);
  }

  /** Returns 0 if one more is allowed, or after how many milliseconds it is. It counts nothing. */
  waitMs(name: string, rate: Rate, nowMs: number): number {
    return Math.max(overMs(debtAfter(this.#repaidAtMs.get(name), rate, nowMs), rate, nowMs), 0);
  }

  count(name: string, rate: Rate, nowMs: number): void {
    this.#repaidAtMs.set(name, debtAfter(this.#repaidAtMs.get(name), rate, nowMs));
  }

  /** One that was counted does not count after all. */
  giveBack(name: string, { everyMs }: Rate): void {
    const repaidAtMs = this.#repaidAtMs.get(name);
    if (repaidAtMs !== undefined) this.#repaidAtMs.set(name, repaidAtMs - everyMs);
  }

  forget(name: string): void {
    this.#repaidAtMs.delete(name);
  }
}

/** What is counted: where, by which name, at which rate. */
export type Counted = readonly [debts: RateDebts, name: string, rate: Rate];

/** Counts one more for each of them. Returns 0, or after how many milliseconds all of them allow it: then it is counted for none. */
export function countAll(all: readonly Counted[], nowMs: number): number {
  const waitMs = Math.max(...all.map(([debts, name, rate]) => debts.waitMs(name, rate, nowMs)));
  if (waitMs > 0) return waitMs;
  for (const [debts, name, rate] of all) debts.count(name, rate, nowMs);
  return 0;
}
