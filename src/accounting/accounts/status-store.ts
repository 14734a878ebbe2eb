import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { DirectoryLane } from '../../db/home-lanes.ts';
import {
  booleanColumn,
  instantColumn,
  intColumn,
  listColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import { ALLOW_LISTS } from './api-key-store.ts';
import type { KeyScope } from './key-scopes.ts';

/** The SQL by which keys are authenticated. */

/**
 * SQL: whether a key `k` reads the balance of its account `a`. Where members do not, a key of a person does while that person is an
 * owner: the key of somebody who has left the account is refused it too. Plan: memberships by primary key.
 */
const SEES_BALANCE = `(a.members_see_balance or k.user_id is null or exists (
    select from memberships m where m.user_id = k.user_id and m.account_id = k.account_id and m.role = 'owner'))`;

const STATUSES = selection({
  accountId: textColumn('k.account_id'),
  /** Where the account is. */
  partition: intColumn('a.partition_no as partition'),
  keyId: textColumn('k.id'),
  isVerified: booleanColumn('a.verified'),
  isAccountActive: booleanColumn(`a.status = 'active' as is_account_active`),
  isRevoked: booleanColumn('k.revoked_at is not null as is_revoked'),
  /** Whether there is no other account. */
  isOnlyAccount: booleanColumn('not exists (select from accounts other where other.id <> a.id) as is_only_account'),
  expiresAtMs: orNull(instantColumn('k.expires_at')),
  allowed: ALLOW_LISTS.from('k'),
  scopes: listColumn<KeyScope>('scopes'),
  /** The person whose key it is; `null`: the account's. */
  userId: orNull(textColumn('k.user_id')),
  /** Whether the account shows its balance to this key. */
  seesBalance: booleanColumn(`${SEES_BALANCE} as sees_balance`),
});

/** What the directory says of a key; `limited-key-store.ts` has what its partition does. */
export type KeyStatus = RowOf<typeof STATUSES>;

/**
 * Many look-ups in one statement, by the unique index api_keys_by_hash. Whether there are other accounts is known after two
 * rows of accounts at most, however many there are.
 */
const selectStatuses: Statement = {
  name: 'accounts.select-standings',
  text: `select asked.position, ${STATUSES.of('k')}
from unnest($1::bytea[]) with ordinality as asked (key_hash, position)
join api_keys k on k.key_hash = asked.key_hash
join accounts a on a.id = k.account_id`,
};

/** SQL: whether there is a key whose shown beginning is in a range. */
const isInRange = (range: string): string =>
  `coalesce((select true from api_keys where prefix collate "C" ${range} order by prefix collate "C" limit 1), false)`;

/** Keys that other programs made do not begin as those made here: before them, or behind all of them. Plan: api_keys_by_prefix. */
export const selectImported: Statement = {
  name: 'accounts.select-imported-keys',
  text: `select ${isInRange("< 'sk-fg-'")} or ${isInRange(">= 'sk-fg.'")} as are_there`,
};

export type KeyStatusStore = ReturnType<typeof createKeyStatusStore>;

export const createKeyStatusStore = (directory: DirectoryLane) => ({
  /** The status of each key, in the order of the hashes; `null` for a hash that no key has. Whoever caches it is told of every change. */
  async findStatuses(keyHashes: readonly Buffer[], signal?: AbortSignal): Promise<(KeyStatus | null)[]> {
    const asked = toArray(keyHashes.map((hash) => `\\x${hash.toString('hex')}`));
    const statuses: (KeyStatus | null)[] = keyHashes.map(() => null);
    type Placed = StoredRow & { readonly position: bigint };
    for (const row of await directory.query<Placed>(selectStatuses, [asked], signal))
      statuses[Number(row.position) - 1] = STATUSES.read(row);
    return statuses;
  },
  /** Whether there are keys that other programs made, revoked ones included. */
  async hasImportedKeys(signal?: AbortSignal): Promise<boolean> {
    const [row] = await directory.query<{ are_there: boolean }>(selectImported, [], signal);
    return row!.are_there;
  },
});

/** A 401 alone would make people replace their keys. */
export const ACCOUNT_SUSPENDED =
  'The account of this API key is suspended. The key is kept, and works again when whoever operates this gateway resumes the account.';

/** Why a key is refused, whatever it is used for; `null` if it is not. */
export function refusalOfKey(status: KeyStatus, nowMs: number): string | null {
  if (status.isRevoked) return 'The API key has been revoked.';
  if (status.expiresAtMs !== null && status.expiresAtMs <= nowMs) return 'The API key has expired.';
  return status.isAccountActive ? null : ACCOUNT_SUSPENDED;
}
