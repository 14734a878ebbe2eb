import { type Rate, RateDebts } from '../../lib/rate-debts.ts';

/** Wrong codes that an account may try. */
const GUESSES: Rate = { burst: 10, everyMs: 6_000 };
/** Tracked accounts; the least recently active one is evicted. */
const ACCOUNTS_MAX = 10_000;

/** Counts attempts: in this process, or in one that counts for several. */
export interface VoucherGuesses {
  /** Takes an attempt. Returns 0, or the milliseconds until the next attempt if none is left. */
  take(accountId: string): number | Promise<number>;
  giveBack(accountId: string): void;
}

/**
 * Limits wrong codes by account, on one machine. An attempt is taken before the lookup, so that concurrent attempts count too, and given
 * back if the code exists.
 */
export class GuessLimit implements VoucherGuesses {
  readonly #nowMs: () => number;
  readonly #debts = new RateDebts(ACCOUNTS_MAX);

  /** `nowMs`: a monotonic clock. */
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
