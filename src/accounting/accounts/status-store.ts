import { type Lane, type Statement, toArray } from '../../db/database.ts';
import type { AllowLists } from './allow-lists.ts';
import { IS_LIMITED } from './key-limit-store.ts';
import type { KeyScope } from './key-scopes.ts';
import { IS_RATE_LIMITED } from './rate-limit-store.ts';

/** The SQL by which keys are authenticated. */

/** What authentication reads of a key. */
export interface KeyStatus {
  readonly accountId: string;
  readonly keyId: string;
  readonly isVerified: boolean;
  readonly isAccountActive: boolean;
  readonly isRevoked: boolean;
  readonly isKeyLimited: boolean;
  /** Whether the account or the key has limits by the minute of its own. */
  readonly isRateLimited: boolean;
  /** Whether there is no other account. */
  readonly isOnlyAccount: boolean;
  readonly expiresAtMs: number | null;
  readonly allowed: AllowLists;
  readonly scopes: readonly KeyScope[];
  /** The person whose key it is; `null`: the account's. */
  readonly userId: string | null;
  /** Whether the account shows its balance to this key. */
  readonly seesBalance: boolean;
}

interface StatusRow {
  position: bigint;
  account_id: string;
  id: string;
  verified: boolean;
  status: 'active' | 'suspended';
  revoked_at: Date | null;
  expires_at: Date | null;
  is_limited: boolean;
  is_rate_limited: boolean;
  is_only_account: boolean;
  allowed_models: readonly string[] | null;
  allowed_networks: readonly string[] | null;
  scopes: readonly KeyScope[];
  user_id: string | null;
  sees_balance: boolean;
}

/**
 * SQL: whether a key `k` reads the balance of its account `a`. Where members do not, a key of a person does while that person is an
 * owner: the key of somebody who has left the account is refused it too. Plan: memberships by primary key.
 */
const SEES_BALANCE = `(a.members_see_balance or k.user_id is null or exists (
    select from memberships m where m.user_id = k.user_id and m.account_id = k.account_id and m.role = 'owner'))`;

/**
 * Many look-ups in one statement, by the unique index api_keys_by_hash. Whether there are other accounts is known after two
 * rows of accounts at most, however many there are.
 */
const selectStatuses: Statement = {
  name: 'accounts.select-standings',
  text: `select asked.position, k.account_id, k.id, a.verified, a.status, k.revoked_at, k.expires_at,
  ${IS_LIMITED} as is_limited, ${IS_RATE_LIMITED} as is_rate_limited,
  not exists (select from accounts other where other.id <> a.id) as is_only_account,
  to_jsonb(k.allowed_models) as allowed_models, to_jsonb(k.allowed_networks) as allowed_networks,
  to_jsonb(k.scopes) as scopes, k.user_id, ${SEES_BALANCE} as sees_balance
from unnest($1::bytea[]) with ordinality as asked (key_hash, position)
join api_keys k on k.key_hash = asked.key_hash
join accounts a on a.id = k.account_id
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id`,
};

/** The standing of each key, in the order of the hashes; `null` for a hash that no key has. */
export async function findStatuses(
  database: Lane,
  keyHashes: readonly Buffer[],
  signal?: AbortSignal,
): Promise<(KeyStatus | null)[]> {
  const asked = toArray(keyHashes.map((hash) => `\\x${hash.toString('hex')}`));
  const statuses: (KeyStatus | null)[] = keyHashes.map(() => null);
  for (const row of await database.query<StatusRow>(selectStatuses, [asked], signal)) {
    statuses[Number(row.position) - 1] = toStatus(row);
  }
  return statuses;
}

function toStatus(row: StatusRow): KeyStatus {
  return {
    accountId: row.account_id,
    keyId: row.id,
    isVerified: row.verified,
    isAccountActive: row.status === 'active',
    isRevoked: row.revoked_at !== null,
    isKeyLimited: row.is_limited,
    isRateLimited: row.is_rate_limited,
    isOnlyAccount: row.is_only_account,
    expiresAtMs: row.expires_at === null ? null : row.expires_at.getTime(),
    allowed: { models: row.allowed_models, networks: row.allowed_networks },
    scopes: row.scopes,
    userId: row.user_id,
    seesBalance: row.sees_balance,
  };
}

/** Why a key is refused, whatever it is used for; `null` if it is not. */
export function refusalOfKey(status: KeyStatus, nowMs: number): string | null {
  if (status.isRevoked) return 'The API key has been revoked.';
  if (status.expiresAtMs !== null && status.expiresAtMs <= nowMs) return 'The API key has expired.';
  return status.isAccountActive ? null : 'The account of this API key is suspended.';
}
