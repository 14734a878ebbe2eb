import { createHash } from 'node:crypto';
import type { LRUCache } from 'lru-cache';
import { rememberRecent } from '../lib/recent.ts';

/**
 * How often passwords may be tried. Attempts are counted by who is to be signed in and from which network, so that whoever
 * guesses a password keeps out nobody but himself; further limits, far above, are for those who guess from one network at many
 * people, and at one person from many networks. The last one does not concern a network from which that person has signed in lately.
 *
 * The counts are those of one node, in memory: several nodes allow as many times more. That is still far from what guessing
 * needs, and a sign-in writes nothing to the database for it.
 */
export const SIGN_IN_RATES = {
  /** One person from one network. */
  pair: { burst: 10, everyMs: 30_000 },
  /** Everybody from one network. */
  network: { burst: 100, everyMs: 3_000 },
  /** One person from everywhere. */
  person: { burst: 100, everyMs: 5_000 },
  /**
   * From one network: links that do not work, which nobody can guess, but each costs statements; uses of links that fail, which may have
   * cost a password; and names to sign in with that somebody has already, which say that there is such a person.
   */
  failure: { burst: 20, everyMs: 3_000 },
} as const;

/** `burst` attempts at once, and one more each time that `everyMs` has passed. */
interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** Counts that are remembered of each kind; beyond it the least recent is forgotten. */
const REMEMBERED_MAX = 20_000;

export class SignInLimits {
  readonly #nowMs: () => number;
  /** When the debt of each subject is repaid; what lies in the past is no debt. */
  readonly #pairs = rememberRecent<number>(REMEMBERED_MAX);
  readonly #networks = rememberRecent<number>(REMEMBERED_MAX);
  readonly #persons = rememberRecent<number>(REMEMBERED_MAX);
  readonly #failures = rememberRecent<number>(REMEMBERED_MAX);
  readonly #known = rememberRecent<true>(REMEMBERED_MAX);

  /** `nowMs`: any clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Counts an attempt before the password is checked, so that many at once are no more than the limit. Returns 0, or after how
   * many milliseconds the next one is allowed: then this one is not counted.
   *
   * @param person what the attempt names, whether there is such a person or not; `null` where it names nobody.
   */
  begin(person: string | null, network: string): number {
    const subjects = this.#subjects(person, network);
    const nowMs = this.#nowMs();
    const waitMs = Math.max(...subjects.map(([counts, name, rate]) => waitOf(counts.get(name), rate, nowMs)));
    if (waitMs > 0) return waitMs;
    for (const [counts, name, { everyMs }] of subjects) {
      counts.set(name, Math.max(counts.get(name) ?? 0, nowMs) + everyMs);
    }
    return 0;
  }

  /** The attempt was right: it does not count, nor do the wrong ones before it from there. */
  succeeded(person: string | null, network: string): void {
    for (const [counts, name, { everyMs }] of this.#subjects(person, network)) {
      const until = counts.get(name);
      if (until !== undefined) counts.set(name, until - everyMs);
    }
    if (person === null) return;
    const pair = pairOf(person, network);
    this.#pairs.delete(pair);
    this.#known.set(pair, true);
  }

  /** Counts a look at a link, its use, or a new name to sign in with. Returns 0, or after how many milliseconds the next one is allowed. */
  beginTry(network: string): number {
    const nowMs = this.#nowMs();
    const waitMs = waitOf(this.#failures.get(network), SIGN_IN_RATES.failure, nowMs);
    if (waitMs === 0)
      this.#failures.set(network, Math.max(this.#failures.get(network) ?? 0, nowMs) + SIGN_IN_RATES.failure.everyMs);
    return waitMs;
  }

  /** It did not fail: it does not count. */
  tryWorked(network: string): void {
    const until = this.#failures.get(network);
    if (until !== undefined) this.#failures.set(network, until - SIGN_IN_RATES.failure.everyMs);
  }

  #subjects(person: string | null, network: string): [LRUCache<string, number>, string, Rate][] {
    const subjects: [LRUCache<string, number>, string, Rate][] = [[this.#networks, network, SIGN_IN_RATES.network]];
    if (person === null) return subjects;
    const pair = pairOf(person, network);
    subjects.push([this.#pairs, pair, SIGN_IN_RATES.pair]);
    if (!this.#known.has(pair)) subjects.push([this.#persons, subjectOf(person), SIGN_IN_RATES.person]);
    return subjects;
  }
}

function pairOf(person: string, network: string): string {
  return `${network} ${subjectOf(person)}`;
}

/** What a person is remembered by: always as short, because a name of 200 characters can have thousands where it is folded. */
export function subjectOf(person: string): string {
  return createHash('sha256').update(person).digest('base64url');
}

function waitOf(until: number | undefined, { burst, everyMs }: Rate, nowMs: number): number {
  return until === undefined ? 0 : Math.max(until + everyMs - (nowMs + burst * everyMs), 0);
}
