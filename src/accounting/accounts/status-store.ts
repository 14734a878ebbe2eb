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
import { RECORDING } from './recording-tables.ts';

/** SQL: whether a key `k` may read the balance. If members may not, keys of owners may, but not those of former owners. */
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
  /** Id of the account's group; `null`: none. */
  groupId: orNull(textColumn('a.group_id')),
  /** Models that the account may use. Renamed, because the key has a column of the same name. */
  accountModels: orNull({
    ...listColumn('account_models'),
    select: () => 'to_jsonb(a.allowed_models) as account_models',
  }),
  scopes: listColumn<KeyScope>('scopes'),
  userId: orNull(textColumn('k.user_id')),
  seesBalance: booleanColumn(`${SEES_BALANCE} as sees_balance`),
  recording: RECORDING.from('a'),
});

/** What the directory stores about a key and its account. The key's limits are in the partition (`limited-key-store.ts`). */
export type KeyStatus = RowOf<typeof STATUSES>;

/** Selects keys by hash. Uses the unique index api_keys_by_hash. For `is_only_account`, it reads at most two rows of accounts. */
const selectStatuses: Statement = {
  name: 'accounts.select-standings',
  text: `select asked.position, ${STATUSES.of('k')}
from unnest($1::bytea[]) with ordinality as asked (key_hash, position)
join api_keys k on k.key_hash = asked.key_hash
join accounts a on a.id = k.account_id`,
};

const isInRange = (range: string): string =>
  `coalesce((select true from api_keys where prefix collate "C" ${range} order by prefix collate "C" limit 1), false)`;

/** Whether there are imported keys. They sort before or after all prefixes of this gateway. Uses the index api_keys_by_prefix. */
const selectImported: Statement = {
  name: 'accounts.select-imported-keys',
  text: `select ${isInRange("< 'sk-fg-'")} or ${isInRange(">= 'sk-fg.'")} as are_there`,
};

export type KeyStatusStore = ReturnType<typeof createKeyStatusStore>;

export const createKeyStatusStore = (directory: DirectoryPool) => ({
  /** Returns a status for each hash, in the given order; `null` if no key has the hash. */
  async findStatuses(keyHashes: readonly Buffer[], signal?: AbortSignal): Promise<(KeyStatus | null)[]> {
    const asked = toArray(keyHashes.map((hash) => `\\x${hash.toString('hex')}`));
    const statuses: (KeyStatus | null)[] = keyHashes.map(() => null);
    type Placed = StoredRow & { readonly position: bigint };
    for (const row of await directory.query<Placed>(selectStatuses, [asked], signal))
      statuses[Number(row.position) - 1] = STATUSES.read(row);
    return statuses;
  },
  /** Whether imported keys exist, revoked ones included. */
  async hasImportedKeys(signal?: AbortSignal): Promise<boolean> {
    const [row] = await directory.query<{ are_there: boolean }>(selectImported, [], signal);
    return row!.are_there;
  },
});

/** Error message. It states the suspension, because clients would replace their keys after a plain 401. */
export const ACCOUNT_SUSPENDED =
  'The account of this API key is suspended. The key works again once the operator of this gateway resumes the account.';

/** Returns why a key is refused; `null` if it is accepted. */
export function refusalOfKey(status: KeyStatus, nowMs: number): string | null {
  if (status.isRevoked) return 'The API key has been revoked.';
  if (status.expiresAtMs !== null && status.expiresAtMs <= nowMs) return 'The API key has expired.';
  return status.isAccountActive ? null : ACCOUNT_SUSPENDED;
}
