type RefusalFate = 'recorded' | 'counted' | 'dropped';

/** Maximum number of recorded refusals per minute: for each account and code, and for all unknown accounts together. */
export const RECORDED_A_MINUTE = 100;
/** Maximum number of pairs of account and code that are counted per minute. Refusals of further pairs are dropped. */
const COUNTED_MAX = 10_000;
const MINUTE_MS = 60_000;

interface CountedRefusals {
  readonly minuteMs: number;
  readonly accountId: string | null;
  readonly code: string;
  readonly count: number;
}

/** Decides which refusals of a minute are recorded. Unknown accounts share one allowance, so guessed keys cannot fill the database. */
export class RefusalMinute {
  readonly #recordedMax: number;
  #minuteMs = Number.NEGATIVE_INFINITY;
  readonly #recorded = new Map<string, number>();
  readonly #counted = new Map<string, { accountId: string | null; code: string; count: number }>();

  constructor(recordedMax = RECORDED_A_MINUTE) {
    this.#recordedMax = recordedMax;
  }

  /** Decides on a refusal. Call `takeCounts` before, which starts a new minute. */
  decide(accountId: string | null, code: string): RefusalFate {
    const allowance = accountId === null ? '' : nameOf(accountId, code);
    const recorded = this.#recorded.get(allowance) ?? 0;
    if (recorded < this.#recordedMax && (recorded > 0 || this.#recorded.size < COUNTED_MAX)) {
      this.#recorded.set(allowance, recorded + 1);
      return 'recorded';
    }
    return this.count(accountId, code) ? 'counted' : 'dropped';
  }

  /** Counts a refusal. Returns false if too many pairs of account and code are counted already. */
  count(accountId: string | null, code: string): boolean {
    const name = nameOf(accountId, code);
    const counted = this.#counted.get(name);
    if (counted !== undefined) counted.count++;
    else if (this.#counted.size < COUNTED_MAX) this.#counted.set(name, { accountId, code, count: 1 });
    else return false;
    return true;
  }

  get hasCounts(): boolean {
    return this.#counted.size > 0;
  }

  /** If a new minute has started, returns the counts of the previous one. */
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
