import { createHash } from 'node:crypto';
import { widerNetworks } from '../lib/ip-address.ts';
import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import { rememberRecent } from '../lib/recent.ts';

/**
 * How often passwords may be tried. Attempts are counted by who is to be signed in and from which network, so that whoever
 * guesses a password keeps out nobody but himself; further limits, far above, are for those who guess from one network at many
 * people, and at one person from many networks. These do not concern a network from which that person has signed in lately: there
 * the limit of the pair is enough, and nobody else uses it up.
 *
 * The counts are in the memory of one process: that of a node, or the primary of several workers. Several machines allow as many times
 * more. That is still far from what guessing needs, and a sign-in writes nothing to the database for it.
 */
export const SIGN_IN_RATES = {
  /** One person from one network. */
  pair: { burst: 10, everyMs: 30_000 },
  /** Everybody from one network. */
  network: { burst: 100, everyMs: 3_000 },
  /** Everybody from one home line of IPv6, 56 bits, which has 256 networks. */
  line: { burst: 100, everyMs: 3_000 },
  /** Everybody from one site of IPv6, 48 bits, in which others may live too. */
  site: { burst: 400, everyMs: 750 },
  /** One person from everywhere. */
  person: { burst: 100, everyMs: 5_000 },
  /**
   * From one network: links that do not work, which nobody can guess, but each costs statements; uses of links that fail, which may have
   * cost a password; and names to sign in with that somebody has already, which say that there is such a person.
   */
  failure: { burst: 20, everyMs: 3_000 },
  /** The same from one site. */
  siteFailure: { burst: 80, everyMs: 750 },
} as const satisfies Record<string, Rate>;

/** Counts that are remembered of each kind; beyond it the least recent is forgotten. */
const REMEMBERED_MAX = 20_000;

/** How attempts are counted: here, or by a process that counts for several. */
export interface AttemptCounts {
  /**
   * Counts an attempt before the password is checked, so that many at once are no more than the limit. Returns 0, or after how
   * many milliseconds the next one is allowed: then this one is not counted.
   *
   * @param person what the attempt names, whether there is such a person or not; `null` if it names nobody.
   */
  begin(person: string | null, network: string): number | Promise<number>;
  /** The attempt was right: it does not count, nor do the wrong ones before it from there. */
  succeeded(person: string | null, network: string): void;
  /** Whether the person has signed in from this network lately. */
  isKnown(person: string, network: string): boolean | Promise<boolean>;
  /** Counts a look at a link, its use, or a new name to sign in with. Returns 0, or after how many milliseconds the next one is allowed. */
  beginTry(network: string): number | Promise<number>;
  /** It did not fail: it does not count. */
  tryWorked(network: string): void;
}

export class SignInLimits implements AttemptCounts {
  readonly #nowMs: () => number;
  readonly #pairs = new RateDebts(REMEMBERED_MAX);
  readonly #networks = new RateDebts(REMEMBERED_MAX);
  readonly #persons = new RateDebts(REMEMBERED_MAX);
  readonly #failures = new RateDebts(REMEMBERED_MAX);
  readonly #known = rememberRecent<true>(REMEMBERED_MAX);

  /** `nowMs`: any clock that never goes back. */
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

/** What a person is remembered by: always as short, because a name of 200 characters can have thousands if it is folded. */
export function subjectOf(person: string): string {
  return createHash('sha256').update(person).digest('base64url');
}
