import { type Rate, RateDebts } from '../../lib/rate-debts.ts';

/** Codes that an account may try without success. */
const GUESSES: Rate = { burst: 10, everyMs: 6_000 };
/** Accounts that are remembered; beyond it the one that tried least recently is forgotten. */
const ACCOUNTS_MAX = 10_000;

/** How tries are counted: here, or by a process that counts for several. */
export interface VoucherGuesses {
  /** Takes a try. Returns 0, or where there is none left, after how many milliseconds there is. */
  take(accountId: string): number | Promise<number>;
  giveBack(accountId: string): void;
}

/**
 * How often members of an account may try codes that are none, on one machine. Each try is taken before the look-up, so that many at a time count too,
 * and is given back if the code was one.
 */
export class GuessLimit implements VoucherGuesses {
  readonly #nowMs: () => number;
  readonly #debts = new RateDebts(ACCOUNTS_MAX);

  /** `nowMs`: any clock that never goes back. */
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
