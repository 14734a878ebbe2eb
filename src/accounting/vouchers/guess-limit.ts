import { type Rate, RateDebts } from '../../lib/rate-debts.ts';

/** Wrong codes of an account: 10 at once, then one every 6 seconds. */
const GUESSES: Rate = { burst: 10, everyMs: 6_000 };
/** The least recently active account is evicted. */
const ACCOUNTS_MAX = 10_000;

/** Counts attempts in this process, or in one that counts for several processes. */
export interface VoucherGuesses {
  /** Returns 0, or the milliseconds until the next attempt is allowed. */
  take(accountId: string): number | Promise<number>;
  giveBack(accountId: string): void;
}

/** An attempt is taken before the code is looked up, so that concurrent attempts count too, and is given back if the code exists. */
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
