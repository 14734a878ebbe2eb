import { createHash } from 'node:crypto';
import { widerNetworks } from '../lib/ip-address.ts';
import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/**
 * Rate limits of attempts to sign in. The main limit is for a user from one network, so that an attacker locks out only the own network.
 * Wider limits are for one network with many users, and for one user from many networks; they do not apply to a user and a network with a
 * recent sign-in. Each node counts in its own memory: N nodes allow N times as many attempts, still far too few to guess a password.
 */
export const SIGN_IN_RATES = {
  /** Attempts for one user from one network. */
  pair: { burst: 10, everyMs: 30_000 },
  /** Attempts from one network. */
  network: { burst: 100, everyMs: 3_000 },
  /** Attempts from one IPv6 /56 network, the usual one of a home connection. */
  line: { burst: 100, everyMs: 3_000 },
  /** Attempts from one IPv6 /48 network, which unrelated users may share. */
  site: { burst: 400, everyMs: 750 },
  /** Attempts for one user. */
  person: { burst: 100, everyMs: 5_000 },
  /**
   * Failures from one network: invalid links, failed uses of links, and names in use. A link costs database statements or a password hash;
   * a name in use reveals that the user exists.
   */
  failure: { burst: 20, everyMs: 3_000 },
  /** Failures as in `failure`, from one IPv6 /48 network. */
  siteFailure: { burst: 80, everyMs: 750 },
} as const satisfies Record<string, Rate>;

/** Maximum number of entries per limit. Above it, the least recently used one is evicted. */
const REMEMBERED_MAX = 20_000;

/** Counts attempts, in this process or, for a worker, in the primary. */
export interface AttemptCounts {
  /**
   * Counts an attempt before its password is checked, so that concurrent attempts cannot exceed the limit. Returns 0 if it is allowed;
   * otherwise the milliseconds to wait, without counting. `person`: name in the attempt, whether or not such a user exists; `null`: none.
   */
  begin(person: string | null, network: string): number | Promise<number>;
  /** Called after a success: the attempt no longer counts, and earlier ones of this user from this network are forgotten. */
  succeeded(person: string | null, network: string): void;
  isKnown(person: string, network: string): boolean | Promise<boolean>;
  /** Counts a view or use of a link, or a change of a user's name. Returns 0 if it is allowed; otherwise the milliseconds to wait. */
  beginTry(network: string): number | Promise<number>;
  /** Called after a success: the try no longer counts. */
  tryWorked(network: string): void;
}

export class SignInLimits implements AttemptCounts {
  readonly #nowMs: () => number;
  readonly #pairs = new RateDebts(REMEMBERED_MAX);
  readonly #networks = new RateDebts(REMEMBERED_MAX);
  readonly #persons = new RateDebts(REMEMBERED_MAX);
  readonly #failures = new RateDebts(REMEMBERED_MAX);
  readonly #known = rememberRecent<true>(REMEMBERED_MAX);

  /** @param nowMs a monotonic clock */
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

/** Returns the key for a name. It is a hash, because case folding can expand a name of 200 characters to thousands. */
export function subjectOf(person: string): string {
  return createHash('sha256').update(person).digest('base64url');
}
