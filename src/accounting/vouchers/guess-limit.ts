import { type Rate, RateDebts } from '../../lib/rate-debts.ts';

/** Wrong voucher codes that an account may enter: 10 at once, then one every 6 seconds. */
const GUESSES: Rate = { burst: 10, everyMs: 6_000 };
/** Maximum number of tracked accounts. The least recently active one is evicted. */
const ACCOUNTS_MAX = 10_000;

/** Counts attempts to enter a voucher code, in this process or in one that counts for several. */
export interface VoucherGuesses {
  /** Returns 0, or the milliseconds until the next attempt is allowed. */
  take(accountId: string): number | Promise<number>;
  giveBack(accountId: string): void;
}

/** An attempt counts before the code is looked up, so that concurrent attempts count too. If the code exists, it is given back. */
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
