import { type Rate, RateDebts } from '../../lib/rate-debts.ts';

/** Rate of wrong codes that an account can try: 10 at once, then one every 6 seconds. */
const GUESSES: Rate = { burst: 10, everyMs: 6_000 };
/** Maximum number of tracked accounts. The least recently active one is evicted. */
const ACCOUNTS_MAX = 10_000;

/** Counts attempts to redeem a code, either in this process or in one that counts for several processes. */
export interface VoucherGuesses {
  /** Takes an attempt and returns 0. If none is left, returns the milliseconds until the next attempt is allowed. */
  take(accountId: string): number | Promise<number>;
  giveBack(accountId: string): void;
}

/**
 * Limits wrong codes by account, on one machine. An attempt is taken before the code is looked up, so that concurrent attempts count too,
 * and is given back if the code exists.
 */
export class GuessLimit implements VoucherGuesses {
  readonly #nowMs: () => number;
  readonly #debts = new RateDebts(ACCOUNTS_MAX);

  /** @param nowMs a monotonic clock */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  take(accountId: string): number {
    return this.#debts.take(accountId, GUESSES, this.#nowMs());
  }

  giveBack(accountId: string): void {
    this.#debts.giveBack(accountId, GUESSES);
  }
}
