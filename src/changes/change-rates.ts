import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import type { Actor } from '../people/actor.ts';

/**
 * Each change writes an audit log row. An account's limit is higher than an actor's, so one actor cannot block the others. With several
 * workers, the primary counts.
 */
export const CHANGE_RATES = {
  /** A user with all their keys, or an API key of an account, in the account API. */
  caller: { burst: 100, everyMs: 15_000 },
  /** All actors of one account together. */
  account: { burst: 300, everyMs: 5_000 },
  /** A signed-in operator in the admin API. */
  operator: { burst: 500, everyMs: 1_000 },
  /** An admin token, which a program may use to import or provision accounts. */
  token: { burst: 20_000, everyMs: 20 },
} as const satisfies Record<string, Rate>;

/** If there are more subjects of a kind, the least recently used one is forgotten. */
const REMEMBERED_MAX = 20_000;

export interface CountedChange {
  readonly rate: 'caller' | 'operator' | 'token';
  readonly name: string;
  /** The account whose limit also applies. */
  readonly accountId: string | null;
}

export interface ChangeCounts {
  /** Returns 0 if the change is allowed. Otherwise it is not counted, and the result is the wait in milliseconds. */
  take(change: CountedChange): number | Promise<number>;
}

/**
 * Returns `null` for the local command line, and for visitors, who have other limits. Removals have a separate limit and do not count for
 * the account: an owner can still revoke the key of an actor that makes too many changes.
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
