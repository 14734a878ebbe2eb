import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import type { Actor } from '../people/actor.ts';

/**
 * How often one actor, and all actors of one account together, may change something: each change writes a row of the change log. The limit of
 * an account is higher than that of an actor, so that one actor cannot block the others.
 *
 * The counts are in the memory of one process: that of a node, or the primary of several workers.
 */
export const CHANGE_RATES = {
  /** A person or an API key, in the account API; the keys of a person count as that person. */
  caller: { burst: 100, everyMs: 15_000 },
  /** All of them in one account. */
  account: { burst: 300, everyMs: 5_000 },
  /** An operator who has signed in, in the admin API. */
  operator: { burst: 500, everyMs: 1_000 },
  /** An admin token: a program that imports or provisions accounts. */
  token: { burst: 20_000, everyMs: 20 },
} as const satisfies Record<string, Rate>;

/** The most names that are remembered of each kind; then the least recently used is forgotten. */
const REMEMBERED_MAX = 20_000;

/** Whose rates a change counts against. */
export interface CountedChange {
  readonly rate: 'caller' | 'operator' | 'token';
  readonly name: string;
  /** The account whose rate it counts against, too; `null`: none. */
  readonly accountId: string | null;
}

/** How changes are counted: here, or by a process that counts for several. */
export interface ChangeCounts {
  /** Counts a change. Returns 0, or after how many milliseconds it may be made: then it is not counted. */
  take(change: CountedChange): number | Promise<number>;
}

/**
 * Against which rates a change counts; `null`: none, because it comes from the command line of this machine, or from a visitor, whose
 * attempts are counted. Removals have a rate of their own and do not count for the account, so that an owner can revoke the key of an actor
 * that makes too many changes.
 *
 * @param accountId the account of the account API; `null` in the others.
 */
export function countedChange(
  actor: Actor,
  accountId: string | null,
  isRemoval: boolean,
  isAdmin: boolean,
): CountedChange | null {
  const counted = (rate: CountedChange['rate'], name: string): CountedChange => ({
    rate,
    name: isRemoval ? `${name} removes` : name,
    accountId: isRemoval ? null : accountId,
  });
  switch (actor.kind) {
    case 'admin_token':
      return counted('token', actor.id ?? actor.name);
    case 'user':
      return counted(isAdmin ? 'operator' : 'caller', actor.id);
    case 'api_key':
      return counted('caller', actor.userId ?? actor.id);
    case 'command_line':
    case 'visitor':
      return null;
  }
}

export class ChangeRates implements ChangeCounts {
  readonly #nowMs: () => number;
  readonly #debts = {
    caller: new RateDebts(REMEMBERED_MAX),
    account: new RateDebts(REMEMBERED_MAX),
    operator: new RateDebts(REMEMBERED_MAX),
    token: new RateDebts(REMEMBERED_MAX),
  };

  /** `nowMs`: any clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  take({ rate, name, accountId }: CountedChange): number {
    const counted: Counted[] = [[this.#debts[rate], name, CHANGE_RATES[rate]]];
    if (accountId !== null) counted.push([this.#debts.account, accountId, CHANGE_RATES.account]);
    return countAll(counted, this.#nowMs());
  }
}
