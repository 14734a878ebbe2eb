import { createHash } from 'node:crypto';
import { widerNetworks } from '../lib/ip-address.ts';
import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/**
 * Rate limits of sign-in attempts. The main limit applies to a pair of user and network, so an attacker locks out only their own network.
 * Wider limits apply to one network with many users, and to one user from many networks; a pair that has recently signed in is exempt from
 * these. Each node counts in its own memory: N nodes allow N times as many attempts, still far too few to guess a password.
 */
export const SIGN_IN_RATES = {
  /** Attempts for one user from one network. */
  pair: { burst: 10, everyMs: 30_000 },
  /** Attempts from one network. */
  network: { burst: 100, everyMs: 3_000 },
  /** Attempts from one IPv6 /56, the usual prefix of a home connection. */
  line: { burst: 100, everyMs: 3_000 },
  /** Attempts from one IPv6 /48, which unrelated users may share. */
  site: { burst: 400, everyMs: 750 },
  /** Attempts for one user. */
  person: { burst: 100, everyMs: 5_000 },
  /**
   * Failures from one network: invalid links, failed uses of links, and names in use. Links cost database statements or a password hash; a
   * name in use reveals that the user exists.
   */
  failure: { burst: 20, everyMs: 3_000 },
  /** The same failures from one IPv6 /48. */
  siteFailure: { burst: 80, everyMs: 750 },
} as const satisfies Record<string, Rate>;

/** Beyond this number of entries per limit, the least recently used entry is evicted. */
const REMEMBERED_MAX = 20_000;

/** Attempts are counted in this process or, for a worker, in the primary. */
export interface AttemptCounts {
  /**
   * Counts an attempt before its password is checked, so concurrent attempts cannot exceed the limit. Returns 0 if allowed, otherwise the
   * time to wait in milliseconds, without counting. `person`: the name in the attempt, of an existing user or not; `null` if it contains
   * none.
   */
  begin(person: string | null, network: string): number | Promise<number>;
  /** The successful attempt no longer counts, and the pair starts anew. */
  succeeded(person: string | null, network: string): void;
  isKnown(person: string, network: string): boolean | Promise<boolean>;
  /** Counts a view or use of a link, or a change of a user name. Returns 0 if allowed, otherwise the time to wait in milliseconds. */
  beginTry(network: string): number | Promise<number>;
  /** The try no longer counts, because it succeeded. */
  tryWorked(network: string): void;
}

export class SignInLimits implements AttemptCounts {
  readonly #nowMs: () => number;
  readonly #pairs = new RateDebts(REMEMBERED_MAX);
  readonly #networks = new RateDebts(REMEMBERED_MAX);
  readonly #persons = new RateDebts(REMEMBERED_MAX);
  readonly #failures = new RateDebts(REMEMBERED_MAX);
  readonly #known = rememberRecent<true>(REMEMBERED_MAX);

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  begin(person: string | null, network: string): number {
    return countAll(this.#subjects(person, network), this.#nowMs());
  }

  succeeded(person: string | null, network: string): void {
    takeBack(this.#subjects(person, network));
    if (person === null) return;
    const pair = pairOf(person, network);
    this.#pairs.forget(pair);
    this.#known.set(pair, true);
  }

  isKnown(person: string, network: string): boolean {
    return this.#known.has(pairOf(person, network));
  }

  beginTry(network: string): number {
    return countAll(this.#tries(network), this.#nowMs());
  }

  tryWorked(network: string): void {
    takeBack(this.#tries(network));
  }

  #tries(network: string): Counted[] {
    const { failure } = SIGN_IN_RATES;
    const { line, site } = widerNetworks(network);
    const subjects: Counted[] = [[this.#failures, network, failure]];
    if (line === network) return subjects;
    return [...subjects, [this.#failures, line, failure], [this.#failures, site, SIGN_IN_RATES.siteFailure]];
  }

  #subjects(person: string | null, network: string): Counted[] {
    const { line, site } = widerNetworks(network);
    const around: Counted[] = [[this.#networks, network, SIGN_IN_RATES.network]];
    if (line !== network) {
      around.push([this.#networks, line, SIGN_IN_RATES.line], [this.#networks, site, SIGN_IN_RATES.site]);
    }
    if (person === null) return around;
    const pair: Counted = [this.#pairs, pairOf(person, network), SIGN_IN_RATES.pair];
    if (this.isKnown(person, network)) return [pair];
    return [...around, pair, [this.#persons, subjectOf(person), SIGN_IN_RATES.person]];
  }
}

function takeBack(subjects: readonly Counted[]): void {
  for (const [debts, name, rate] of subjects) debts.giveBack(name, rate);
}

function pairOf(person: string, network: string): string {
  return `${network} ${subjectOf(person)}`;
}

/** Case folding can expand a name of 200 characters to thousands, so the key is a hash. */
export function subjectOf(person: string): string {
  return createHash('sha256').update(person).digest('base64url');
}
