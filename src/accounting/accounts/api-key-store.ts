import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../../db/home-pools.ts';
import { dateColumn, listColumn, orNull, type RowOf, type Selection, selection, textColumn } from '../../db/table.ts';
import { type AllowListChange, type AllowLists, NO_ALLOW_LISTS } from './allow-lists.ts';
import { findOwnKeyIds, type OwnKeysLimit, requireCapacityForKey, requireMembership } from './key-owner-store.ts';
import { DEFAULT_SCOPES, type KeyScope } from './key-scopes.ts';
import { announceChange } from './principal-change-store.ts';

export const ALLOW_LISTS: Selection<AllowLists> = selection({
  models: orNull(listColumn('allowed_models')),
  networks: orNull(listColumn('allowed_networks')),
});

export const KEYS = selection({
  id: textColumn('id'),
  accountId: textColumn('account_id'),
  name: textColumn('name'),
  prefix: textColumn('prefix'),
  createdAt: dateColumn('created_at'),
  expiresAt: orNull(dateColumn('expires_at')),
  revokedAt: orNull(dateColumn('revoked_at')),
  allowed: ALLOW_LISTS,
  scopes: listColumn<KeyScope>('scopes'),
  /** The user who owns the key; `null`: the key belongs to the account. */
  userId: orNull(textColumn('user_id')),
  /** Name of the user who owned the key and has left the account. */
  formerUserName: orNull(textColumn('former_user_name')),
});

export type ApiKey = RowOf<typeof KEYS>;

const insertKey: Statement = {
  name: 'accounts.insert-key',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks, scopes, user_id,
  revoked_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8::text[], $9::text[], $10::text[], $11, $12)
returning ${KEYS.list}`,
};

/** SQL: the status of a key at an instant. A revoked key stays `revoked` after its expiry. */
const STATUS_AT = (at: string) => `case when revoked_at is not null then 'revoked'
  when expires_at <= ${at}::timestamptz then 'expired' else 'active' end`;

const listOf = (name: string, further = ''): Statement => ({
  name,
  text: `select ${KEYS.list} from api_keys
where account_id = $1 and ($2::text is null or id < $2) and ($4::text is null or ${STATUS_AT('$5')} = $4) ${further}
order by id desc limit $3::int`,
});
const listKeys = listOf('accounts.list-keys');
/** Lists the keys of one user. Uses the index api_keys_by_user. */
const listOwnKeys = listOf('accounts.list-own-keys', 'and user_id = $6');

const selectKey: Statement = {
  name: 'accounts.select-key',
  text: `select ${KEYS.list} from api_keys where id = $1`,
};

const selectKeyNames: Statement = {
  name: 'accounts.select-key-names',
  text: 'select id, name from api_keys where id = any ($1::text[])',
};

const revokeKey: Statement = {
  name: 'accounts.revoke-key',
  text: `update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning account_id`,
};

export interface NewKey {
  readonly accountId: string;
  readonly id: string;
  readonly name: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  readonly expiresAt: Date | null;
  readonly allowed?: AllowListChange;
  readonly scopes?: readonly KeyScope[] | undefined;
  /** Absent or `null`: the key belongs to the account. */
  readonly userId?: string | null;
  /** Maximum number of keys per user. If it is absent, only the limits of the account apply. */
  readonly ownKeys?: OwnKeysLimit | undefined;
  /** Whether the key was created by another program. From the first such key on, every node also looks up keys of other formats. */
  readonly isImported?: boolean;
  readonly isRevoked?: boolean;
  readonly at: Date;
}

/** Which keys a list contains. Members that are absent or `null` do not restrict it. */
interface KeyFilter {
  readonly userId?: string | null;
  readonly status?: KeyStatus | null;
  readonly at?: Date | null;
}

export const KEY_STATUSES = ['active', 'revoked', 'expired'] as const;
type KeyStatus = (typeof KEY_STATUSES)[number];

export interface ApiKeyStore {
  insertKey(key: NewKey): Promise<ApiKey>;
  /** Newest first. */
  listKeys(accountId: string, beforeId: string | null, limit: number, filter?: KeyFilter): Promise<ApiKey[]>;
  /** Newest first, including revoked keys. */
  findOwnKeyIds(accountId: string, userId: string): Promise<string[]>;
  /** Revokes a key. Returns its account id; `null` if the key does not exist. Every node drops the account's cached keys. */
  revokeKey(keyId: string, at: Date): Promise<string | null>;
  findKey(keyId: string): Promise<ApiKey | null>;
  /** Returns names by key id. Unknown ids are absent. */
  findKeyNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** @throws TooManyKeysError, NoMemberError */
export async function makeKey(
  transaction: DirectoryQueryable,
  {
    accountId,
    id,
    name,
    keyHash,
    prefix,
    expiresAt,
    allowed = NO_ALLOW_LISTS,
    scopes = DEFAULT_SCOPES,
    userId = null,
    ownKeys,
    isImported = false,
    isRevoked = false,
    at,
  }: NewKey,
): Promise<ApiKey> {
  await requireCapacityForKey(transaction, accountId, ownKeys, at, false);
  if (userId !== null) await requireMembership(transaction, accountId, userId);
  const rows = await transaction.query(insertKey, [
    accountId,
    id,
    name,
    keyHash,
    prefix,
    at,
    expiresAt,
    arrayOrNull(allowed.models),
    arrayOrNull(allowed.networks),
    toArray(scopes),
    userId,
    isRevoked ? at : null,
  ]);
  if (isImported) await announceChange(transaction, accountId);
  return KEYS.read(rows[0]!);
}

export function createApiKeyStore(database: DirectoryPool): ApiKeyStore {
  return {
    insertKey: (key) => database.transaction((transaction) => makeKey(transaction, key)),
    async listKeys(accountId, beforeId, limit, { userId = null, status = null, at = null } = {}) {
      const of = [accountId, beforeId, limit, status, at];
      return KEYS.all(
        await (userId === null ? database.query(listKeys, of) : database.query(listOwnKeys, [...of, userId])),
      );
    },
    findOwnKeyIds: (accountId, userId) => findOwnKeyIds(database, accountId, userId),
    revokeKey: (keyId, at) =>
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<{ account_id: string }>(revokeKey, [keyId, at]);
        if (row === undefined) return null;
        await announceChange(transaction, row.account_id);
        return row.account_id;
      }),
    findKey: async (keyId) => KEYS.first(await database.query(selectKey, [keyId])),
    findKeyNames: (ids) => namesOf(database, selectKeyNames, ids),
  };
}

export async function namesOf(
  database: DirectoryPool,
  statement: Statement,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await database.query<{ id: string; name: string }>(statement, [toArray([...new Set(ids)])]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export function arrayOrNull(values: readonly string[] | null | undefined): string | null {
  return values == null ? null : toArray(values);
}
