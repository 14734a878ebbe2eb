type RefusalFate = 'recorded' | 'counted' | 'dropped';

/** Refusals that are recorded one by one in a minute: of an account and code, and of all strangers together. */
export const RECORDED_A_MINUTE = 100;
/** Accounts and codes that are counted in a minute; what comes beyond is dropped. */
const COUNTED_MAX = 10_000;
const MINUTE_MS = 60_000;

/** A refusal that is not recorded by itself, with how many there were of its account and code in that minute. */
interface CountedRefusals {
  readonly minuteMs: number;
  readonly accountId: string | null;
  readonly code: string;
  readonly count: number;
}

/**
 * Decides which refusals of a minute are recorded one by one, and counts the others. Strangers, of whom there are as many as
 * addresses, share one allowance: guessing keys must not fill the database.
 */
export class RefusalMinute {
  readonly #recordedMax: number;
  #minuteMs = Number.NEGATIVE_INFINITY;
  readonly #recorded = new Map<string, number>();
  readonly #counted = new Map<string, { accountId: string | null; code: string; count: number }>();

  /** `recordedMax`: of an account and code, and of all strangers together. */
  constructor(recordedMax = RECORDED_A_MINUTE) {
    this.#recordedMax = recordedMax;
  }

  /** What becomes of a refusal. Call `takeCounts` first, which begins a minute. */
  decide(accountId: string | null, code: string): RefusalFate {
    const allowance = accountId === null ? '' : nameOf(accountId, code);
    const recorded = this.#recorded.get(allowance) ?? 0;
    if (recorded < this.#recordedMax && (recorded > 0 || this.#recorded.size < COUNTED_MAX)) {
      this.#recorded.set(allowance, recorded + 1);
      return 'recorded';
    }
    return this.count(accountId, code) ? 'counted' : 'dropped';
  }

  /** Counts a refusal; false where too many accounts and codes are counted already. */
  count(accountId: string | null, code: string): boolean {
    const name = nameOf(accountId, code);
    const counted = this.#counted.get(name);
    if (counted !== undefined) counted.count++;
    else if (this.#counted.size < COUNTED_MAX) this.#counted.set(name, { accountId, code, count: 1 });
    else return false;
    return true;
  }

  /** Whether there are counts that are not taken yet. */
  get hasCounts(): boolean {
    return this.#counted.size > 0;
  }

  /** The counts of the minute before, if another one has begun. */
  takeCounts(nowMs: number): CountedRefusals[] {
    const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    if (minuteMs === this.#minuteMs) return [];
    const counts = [...this.#counted.values()].map((counted) => ({ minuteMs: this.#minuteMs, ...counted }));
    this.#counted.clear();
    this.#recorded.clear();
    this.#minuteMs = minuteMs;
    return counts;
  }
}

function nameOf(accountId: string | null, code: string): string {
  return `${accountId ?? ''} ${code}`;
}
