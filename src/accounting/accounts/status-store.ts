import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
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

/** SQL: whether a key `k` can read the balance. If members cannot, keys of owners still can, but keys of former owners cannot. */
const SEES_BALANCE = `(a.members_see_balance or k.user_id is null or exists (
    select from memberships m where m.user_id = k.user_id and m.account_id = k.account_id and m.role = 'owner'))`;

const STATUSES = selection({
  accountId: textColumn('k.account_id'),
  partition: intColumn('a.partition_no as partition'),
  keyId: textColumn('k.id'),
  isVerified: booleanColumn('a.verified'),
  isAccountActive: booleanColumn(`a.status = 'active' as is_account_active`),
  isRevoked: booleanColumn('k.revoked_at is not null as is_revoked'),
  isOnlyAccount: booleanColumn('not exists (select from accounts other where other.id <> a.id) as is_only_account'),
  expiresAtMs: orNull(instantColumn('k.expires_at')),
  allowed: ALLOW_LISTS.from('k'),
  /** The group of the account; `null`: none. */
  groupId: orNull(textColumn('a.group_id')),
  /** `allowed_models` of the account; the key's own column has the same name. */
  accountModels: orNull({
    ...listColumn('account_models'),
    select: () => 'to_jsonb(a.allowed_models) as account_models',
  }),
  scopes: listColumn<KeyScope>('scopes'),
  userId: orNull(textColumn('k.user_id')),
  seesBalance: booleanColumn(`${SEES_BALANCE} as sees_balance`),
});

/** The directory's data about a key. The limits of the key are in the partition (`limited-key-store.ts`). */
export type KeyStatus = RowOf<typeof STATUSES>;

/** Uses the unique index api_keys_by_hash. `is_only_account` reads at most two rows of accounts. */
const selectStatuses: Statement = {
  name: 'accounts.select-standings',
  text: `select asked.position, ${STATUSES.of('k')}
from unnest($1::bytea[]) with ordinality as asked (key_hash, position)
join api_keys k on k.key_hash = asked.key_hash
join accounts a on a.id = k.account_id`,
};

const isInRange = (range: string): string =>
  `coalesce((select true from api_keys where prefix collate "C" ${range} order by prefix collate "C" limit 1), false)`;

/** Imported keys sort before or after all prefixes of this gateway. Uses the index api_keys_by_prefix. */
const selectImported: Statement = {
  name: 'accounts.select-imported-keys',
  text: `select ${isInRange("< 'sk-fg-'")} or ${isInRange(">= 'sk-fg.'")} as are_there`,
};

export type KeyStatusStore = ReturnType<typeof createKeyStatusStore>;

export const createKeyStatusStore = (directory: DirectoryPool) => ({
  /** One status per hash, in the order of the hashes; `null` if no key has the hash. */
  async findStatuses(keyHashes: readonly Buffer[], signal?: AbortSignal): Promise<(KeyStatus | null)[]> {
    const asked = toArray(keyHashes.map((hash) => `\\x${hash.toString('hex')}`));
    const statuses: (KeyStatus | null)[] = keyHashes.map(() => null);
    type Placed = StoredRow & { readonly position: bigint };
    for (const row of await directory.query<Placed>(selectStatuses, [asked], signal))
      statuses[Number(row.position) - 1] = STATUSES.read(row);
    return statuses;
  },
  /** Includes revoked keys. */
  async hasImportedKeys(signal?: AbortSignal): Promise<boolean> {
    const [row] = await directory.query<{ are_there: boolean }>(selectImported, [], signal);
    return row!.are_there;
  },
});

/** After a plain 401, clients would replace their keys. */
export const ACCOUNT_SUSPENDED =
  'The account of this API key is suspended. The key works again once the operator of this gateway resumes the account.';

/** Returns `null` if the key is accepted. */
export function refusalOfKey(status: KeyStatus, nowMs: number): string | null {
  if (status.isRevoked) return 'The API key has been revoked.';
  if (status.expiresAtMs !== null && status.expiresAtMs <= nowMs) return 'The API key has expired.';
  return status.isAccountActive ? null : ACCOUNT_SUSPENDED;
}
