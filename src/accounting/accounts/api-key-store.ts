import { type Lane, type Statement, toArray } from '../../db/database.ts';
import { type AllowListChange, type AllowLists, NO_ALLOW_LISTS } from './allow-lists.ts';
import { type KeyLimitChange, type KeyLimits, NO_LIMITS, setKeyLimits } from './key-limit-store.ts';
import { findOwnKeyIds, type OwnKeysLimit, requireRoomForKey } from './key-owner-store.ts';
import { DEFAULT_SCOPES, type KeyScope } from './key-scopes.ts';
import { announceChange } from './principal-change-store.ts';
import { NO_RATE_LIMITS, type RateLimitChange, type RateLimits, setRateLimits } from './rate-limit-store.ts';

/** The SQL of API keys. */

export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly allowed: AllowLists;
  readonly scopes: readonly KeyScope[];
  /** The person whose key it is; `null`: the account's. */
  readonly userId: string | null;
}

/** A row of `api_keys`, without the hash. */
export interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  prefix: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  allowed_models: readonly string[] | null;
  allowed_networks: readonly string[] | null;
  scopes: readonly KeyScope[];
  user_id: string | null;
}

/** SQL: the columns of a `KeyRow`. Lists are read as JSON, which both engines return as values. */
export const API_KEY_COLUMNS = `id, account_id, name, prefix, created_at, expires_at, revoked_at,
  to_jsonb(allowed_models) as allowed_models, to_jsonb(allowed_networks) as allowed_networks,
  to_jsonb(scopes) as scopes, user_id`;

const insertKey: Statement = {
  name: 'accounts.insert-key',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks, scopes, user_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8::text[], $9::text[], $10::text[], $11)
returning ${API_KEY_COLUMNS}`,
};

/** SQL: the status of a key. A key that was revoked stays revoked when it would have expired. */
const STATUS_AT = (at: string) => `case when revoked_at is not null then 'revoked'
  when expires_at <= ${at}::timestamptz then 'expired' else 'active' end`;

const listKeys: Statement = {
  name: 'accounts.list-keys',
  text: `select ${API_KEY_COLUMNS} from api_keys
where account_id = $1 and ($2::text is null or id < $2) and ($4::text is null or ${STATUS_AT('$5')} = $4)
order by id desc limit $3::int`,
};

/** Those of a person. Plan: api_keys_by_user. */
const listOwnKeys: Statement = {
  name: 'accounts.list-own-keys',
  text: `select ${API_KEY_COLUMNS} from api_keys
where account_id = $1 and ($2::text is null or id < $2) and ($4::text is null or ${STATUS_AT('$5')} = $4)
  and user_id = $6
order by id desc limit $3::int`,
};

/** By the unique index api_keys_by_id. */
const selectKey: Statement = {
  name: 'accounts.select-key',
  text: `select ${API_KEY_COLUMNS} from api_keys where id = $1`,
};

/** Sets the lists that are named. By the unique index api_keys_by_id. */
const updateAllowLists: Statement = {
  name: 'accounts.update-allow-lists',
  text: `update api_keys set
  allowed_models = case when $2::boolean then $3::text[] else allowed_models end,
  allowed_networks = case when $4::boolean then $5::text[] else allowed_networks end
where id = $1
returning ${API_KEY_COLUMNS}`,
};

/** By the unique index api_keys_by_id. A key that is already revoked keeps its first date. */
const revokeKey: Statement = {
  name: 'accounts.revoke-key',
  text: `update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning account_id`,
};

interface NewKey {
  readonly accountId: string;
  readonly id: string;
  readonly name: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  readonly expiresAt: Date | null;
  /** Absent: none. */
  readonly limits?: KeyLimitChange;
  /** Absent: none. */
  readonly rateLimits?: RateLimitChange;
  /** Absent: none. */
  readonly allowed?: AllowListChange;
  /** Absent: for calls. */
  readonly scopes?: readonly KeyScope[];
  /** Absent, or `null`: the account's. */
  readonly userId?: string | null;
  /** Absent: none beside those of the account. */
  readonly ownKeys?: OwnKeysLimit | undefined;
  readonly at: Date;
}

/** Which keys of an account a list has; what is absent or `null` filters nothing. */
interface KeyFilter {
  /** The person whose keys they are. */
  readonly userId?: string | null;
  /** The status at `at`. */
  readonly status?: KeyStatus | null;
  readonly at?: Date | null;
}

export const KEY_STATUSES = ['active', 'revoked', 'expired'] as const;
type KeyStatus = (typeof KEY_STATUSES)[number];

export interface ApiKeyStore {
  /**
   * With its limits, or not at all.
   *
   * @throws TooManyKeysError
   */
  insertKey(
    key: NewKey,
  ): Promise<{ readonly key: ApiKey; readonly limits: KeyLimits; readonly rateLimits: RateLimits }>;
  /** Newest first. */
  listKeys(accountId: string, beforeId: string | null, limit: number, filter?: KeyFilter): Promise<ApiKey[]>;
  /** The ids of the keys of a person, the newest first, revoked ones too. */
  findOwnKeyIds(accountId: string, userId: string): Promise<string[]>;
  /** Sets the lists that the change names; `null` if there is no such key. Every node drops the account's cached keys. */
  changeAllowLists(keyId: string, change: AllowListChange): Promise<ApiKey | null>;
  /** Returns the account of the revoked key, or `null` if there is no such key. Every node drops it from its cache. */
  revokeKey(keyId: string, at: Date): Promise<string | null>;
  /** `null` if there is no such key. */
  findKey(keyId: string): Promise<ApiKey | null>;
}

export function createApiKeyStore(database: Lane): ApiKeyStore {
  return {
    insertKey: ({
      accountId,
      id,
      name,
      keyHash,
      prefix,
      expiresAt,
      limits,
      rateLimits,
      allowed = NO_ALLOW_LISTS,
      scopes = DEFAULT_SCOPES,
      userId = null,
      ownKeys,
      at,
    }) =>
      database.transaction(async (transaction) => {
        await requireRoomForKey(transaction, accountId, ownKeys, at, false);
        const [row] = await transaction.query<KeyRow>(insertKey, [
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
        ]);
        const given = limits === undefined ? NO_LIMITS : await setKeyLimits(transaction, accountId, id, limits);
        const owner = { accountId, keyId: id };
        const rates = rateLimits === undefined ? NO_RATE_LIMITS : await setRateLimits(transaction, owner, rateLimits);
        return { key: toApiKey(row!), limits: given, rateLimits: rates };
      }),
    async listKeys(accountId, beforeId, limit, { userId = null, status = null, at = null } = {}) {
      const of = [accountId, beforeId, limit, status, at];
      const rows = await (userId === null
        ? database.query<KeyRow>(listKeys, of)
        : database.query<KeyRow>(listOwnKeys, [...of, userId]));
      return rows.map(toApiKey);
    },
    findOwnKeyIds: (accountId, userId) => findOwnKeyIds(database, accountId, userId),
    changeAllowLists: (keyId, { models, networks }) =>
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<KeyRow>(updateAllowLists, [
          keyId,
          models !== undefined,
          arrayOrNull(models),
          networks !== undefined,
          arrayOrNull(networks),
        ]);
        if (row === undefined) return null;
        await announceChange(transaction, row.account_id);
        return toApiKey(row);
      }),
    revokeKey: (keyId, at) =>
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<{ account_id: string }>(revokeKey, [keyId, at]);
        if (row === undefined) return null;
        await announceChange(transaction, row.account_id);
        return row.account_id;
      }),
    async findKey(keyId) {
      const [row] = await database.query<KeyRow>(selectKey, [keyId]);
      return row === undefined ? null : toApiKey(row);
    },
  };
}

function arrayOrNull(values: readonly string[] | null | undefined): string | null {
  return values == null ? null : toArray(values);
}

export function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    prefix: row.prefix,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    allowed: { models: row.allowed_models, networks: row.allowed_networks },
    scopes: row.scopes,
    userId: row.user_id,
  };
}
