import { type Counted, countAll, type Rate, RateDebts } from '../lib/rate-debts.ts';
import type { Actor } from '../people/actor.ts';

/**
 * Rate limits of changes, each of which writes a row of the audit log. An account's limit is higher than an actor's, so that one actor
 * cannot block the others. With several workers, the primary counts.
 */
export const CHANGE_RATES = {
  /** In the account API: a user with all own keys, or an API key of an account. */
  caller: { burst: 100, everyMs: 15_000 },
  /** All actors of an account together. */
  account: { burst: 300, everyMs: 5_000 },
  /** In the admin API: a signed-in operator. */
  operator: { burst: 500, everyMs: 1_000 },
  /** An admin token, with which a program may import or provision accounts. */
  token: { burst: 20_000, everyMs: 20 },
} as const satisfies Record<string, Rate>;

/** Maximum number of remembered subjects of a kind. Above it, the least recently used one is forgotten. */
const REMEMBERED_MAX = 20_000;

export interface CountedChange {
  readonly rate: 'caller' | 'operator' | 'token';
  readonly name: string;
  /** Account whose limit applies, too; `null`: none. */
  readonly accountId: string | null;
}

export interface ChangeCounts {
  /** Counts a change and returns 0 if it is allowed. Otherwise counts nothing and returns the milliseconds to wait. */
  take(change: CountedChange): number | Promise<number>;
}

/**
 * Returns how a change counts; `null` for the local command line, and for visitors, who have other limits. Removals have a limit of their
 * own and do not count for the account: an owner can still revoke the key of an actor that makes too many changes.
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

  /** @param nowMs a monotonic clock */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  take({ rate, name, accountId }: CountedChange): number {
    const counted: Counted[] = [[this.#debts[rate], name, CHANGE_RATES[rate]]];
    if (accountId !== null) counted.push([this.#debts.account, accountId, CHANGE_RATES.account]);
    return countAll(counted, this.#nowMs());
  }
}
