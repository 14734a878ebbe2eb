import { rememberRecent } from '../../lib/recent.ts';

/** Codes that an account may try in a burst without success. */
const GUESSES_MAX = 10;
/** One more may be tried after so long. */
const REFILL_MS = 6_000;
/** Accounts that are remembered; beyond it the one that tried least recently is forgotten. */
const ACCOUNTS_MAX = 10_000;

/**
 * How often members of an account may try codes that are none, on one node. Each try is taken before the look-up, so that many at a time count too,
 * and is given back where the code was one.
 */
export class GuessLimit {
  readonly #nowMs: () => number;
  readonly #accounts = rememberRecent<{ used: number; countedAtMs: number }>(ACCOUNTS_MAX);

  /** `nowMs`: any clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Takes a try. Returns 0, or where there is none left, after how many milliseconds there is. */
  take(accountId: string): number {
    const nowMs = this.#nowMs();
    const { used: usedThen, countedAtMs } = this.#accounts.get(accountId) ?? { used: 0, countedAtMs: nowMs };
    const used = Math.max(usedThen - (nowMs - countedAtMs) / REFILL_MS, 0);
    const isLeft = used + 1 <= GUESSES_MAX;
    this.#accounts.set(accountId, { used: isLeft ? used + 1 : used, countedAtMs: nowMs });
    return isLeft ? 0 : Math.ceil((used + 1 - GUESSES_MAX) * REFILL_MS);
  }

  giveBack(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) account.used = Math.max(account.used - 1, 0);
  }
}
