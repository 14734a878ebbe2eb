import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import type { Actor } from '../people/actor.ts';

/**
 * Limits of changes per actor and per account; each change writes an audit log row. An account's limit is higher than an actor's, so that
 * one actor cannot block the others.
 *
 * The counts are in memory, in the node's process or in the primary process of several workers.
 */
export const CHANGE_RATES = {
  /** Limit of a user, or of an API key, in the account API. A user's keys count as the user. */
  caller: { burst: 100, everyMs: 15_000 },
  /** Limit of all actors of one account together. */
  account: { burst: 300, everyMs: 5_000 },
  /** Limit of a signed-in operator in the admin API. */
  operator: { burst: 500, everyMs: 1_000 },
  /** Limit of an admin token, which may belong to a program that imports or provisions accounts. */
  token: { burst: 20_000, everyMs: 20 },
} as const satisfies Record<string, Rate>;

/** Maximum number of tracked subjects per kind; the least recently used one is forgotten. */
const REMEMBERED_MAX = 20_000;

/** The limits that a change counts against. */
export interface CountedChange {
  readonly rate: 'caller' | 'operator' | 'token';
  readonly name: string;
  /** The account whose limit also applies; `null`: none. */
  readonly accountId: string | null;
}

/** Counts changes, in this process or in another one that counts for several. */
export interface ChangeCounts {
  /** Counts a change. Returns 0 if it is allowed; otherwise the wait in milliseconds, and the change is not counted. */
  take(change: CountedChange): number | Promise<number>;
}

/**
 * The limits that a change counts against; `null` for the local command line, and for visitors, whose attempts are limited separately.
 * Removals have a separate limit and do not count for the account, so that an owner can still revoke the key of an actor that makes too
 * many changes.
 *
 * @param accountId the account in the account API; `null` in other APIs.
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

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  take({ rate, name, accountId }: CountedChange): number {
    const counted: Counted[] = [[this.#debts[rate], name, CHANGE_RATES[rate]]];
    if (accountId !== null) counted.push([this.#debts.account, accountId, CHANGE_RATES.account]);
    return countAll(counted, this.#nowMs());
  }
}
