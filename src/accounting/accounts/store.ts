import { type Lane, type Queryable, type Statement, toArray } from '../../db/database.ts';
import { type LookedThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import { postEntry } from '../ledger/ledger-store.ts';
import { type AccountFilter, createAccountList } from './account-list-store.ts';
import { type KeyedAccountRequest, takeAccountKey } from './account-request-store.ts';
import { type AllowListChange, type AllowLists, NO_ALLOW_LISTS } from './allow-lists.ts';
import { type KeyLimitChange, type KeyLimits, NO_LIMITS, setKeyLimits } from './key-limit-store.ts';
import { NO_RATE_LIMITS, type RateLimitChange, type RateLimits, setRateLimits } from './rate-limit-store.ts';
import { findStandings, type KeyStanding } from './standing-store.ts';

/** The SQL of accounts and keys. Only this file knows their tables. */

export type AccountStatus = 'active' | 'suspended';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly verified: boolean;
  readonly status: AccountStatus;
  /** Why it has that status, as an operator has said; `null` where none has. */
  readonly statusReason: string | null;
  /** `null`: since it was created. */
  readonly statusChangedAt: Date | null;
  readonly createdAt: Date;
}

export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly allowed: AllowLists;
}

interface AccountRow {
  id: string;
  name: string;
  email: string | null;
  verified: boolean;
  status: AccountStatus;
  status_reason: string | null;
  status_changed_at: Date | null;
  created_at: Date;
}

const ACCOUNT_COLUMNS = 'id, name, email, verified, status, status_reason, status_changed_at, created_at';

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
}

/** SQL: the columns of a `KeyRow`. Lists are read as JSON, which both engines return as values. */
const API_KEY_COLUMNS = `id, account_id, name, prefix, created_at, expires_at, revoked_at,
  to_jsonb(allowed_models) as allowed_models, to_jsonb(allowed_networks) as allowed_networks`;

/** Nodes are notified on this channel to drop the cached keys of an account; the payload is the account's id. */
export const PRINCIPALS_CHANNEL = 'faregate_principals';

const insertAccount: Statement = {
  name: 'accounts.insert',
  text: `with account as (
  insert into accounts (id, name, email, verified, status, created_at, updated_at)
  values ($1, $2, $3, $4, 'active', $5, $5)
  returning id
)
insert into balances (account_id, daily_cap_nano) select id, $6::bigint from account`,
};

const updateAccount: Statement = {
  name: 'accounts.update',
  text: `update accounts set
  name = coalesce($2, name), email = coalesce($3, email), verified = coalesce($4::boolean, verified),
  status = coalesce($5, status), updated_at = $6, status_reason = case when $5 is null then status_reason else $7 end,
  status_changed_at = case when $5 is distinct from status and $5 is not null then $6 else status_changed_at end
where id = $1
returning ${ACCOUNT_COLUMNS}`,
};

/** By primary key. */
const selectAccount: Statement = {
  name: 'accounts.select',
  text: `select ${ACCOUNT_COLUMNS} from accounts where id = $1`,
};

/** Those of a list. Plan: primary key. */
const selectListed: Statement = {
  name: 'accounts.select-listed',
  text: `select ${ACCOUNT_COLUMNS} from accounts where id = any ($1::text[]) order by id desc`,
};

const insertKey: Statement = {
  name: 'accounts.insert-key',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks
)
values ($1, $2, $3, $4, $5, $6, $7, $8::text[], $9::text[])
returning ${API_KEY_COLUMNS}`,
};

const listKeys: Statement = {
  name: 'accounts.list-keys',
  text: `select ${API_KEY_COLUMNS} from api_keys
where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3::int`,
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

/** Notifies every node. In a transaction it is sent on commit, so no node can read the old row after the notification. */
const notifyPrincipals: Statement = {
  name: 'accounts.notify-principals',
  text: `select pg_notify('${PRINCIPALS_CHANNEL}', $1)`,
};

export interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly verified: boolean;
  readonly dailyCapNano: bigint | null;
  /** The first top-up; none where it is 0 or absent. */
  readonly openingNano?: bigint;
  /** Absent, or `null`: another request with the same content makes another account. */
  readonly keyed?: KeyedAccountRequest | null;
  readonly at: Date;
}

export interface AccountChange {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly verified?: boolean | undefined;
  readonly status?: AccountStatus | undefined;
  /** Of the status; without it, a status that is set has none. */
  readonly statusReason?: string | undefined;
}

export interface NewKey {
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
  readonly at: Date;
}

export interface AccountStore {
  /**
   * Creates an account with its first top-up, or not at all. Returns its id, that of the first one for the repeat of a request
   * with an idempotency key, `null` where the key was used for another account.
   */
  insertAccount(account: NewAccount): Promise<string | null>;
  /** Returns the changed account, or `null` where there is none. Every node drops its cached keys. */
  updateAccount(id: string, change: AccountChange, at: Date): Promise<Account | null>;
  findAccount(id: string): Promise<Account | null>;
  /**
   * Accounts that a filter lets through, newest first. Where the time is over before there are enough, it returns what it has
   * found and where to look on. Without a `timing` it looks at everything.
   */
  listAccounts(
    filter: AccountFilter,
    beforeId: string | null,
    limit: number,
    timing?: SliceTiming,
  ): Promise<LookedThrough<Account>>;
  /** With its limits, or not at all. */
  insertKey(
    key: NewKey,
  ): Promise<{ readonly key: ApiKey; readonly limits: KeyLimits; readonly rateLimits: RateLimits }>;
  listKeys(accountId: string, beforeId: string | null, limit: number): Promise<ApiKey[]>;
  /** Sets the lists that the change names; `null` where there is no such key. Every node drops the account's cached keys. */
  changeAllowLists(keyId: string, change: AllowListChange): Promise<ApiKey | null>;
  /** Returns the account of the revoked key, or `null` where there is no such key. Every node drops it from its cache. */
  revokeKey(keyId: string, at: Date): Promise<string | null>;
  /** `null` where there is no such key. */
  findKey(keyId: string): Promise<ApiKey | null>;
  /** Makes every node drop the cached keys of an account. */
  announceChange(accountId: string): Promise<void>;
  /** The standing of each key, in the order of the hashes; `null` for a hash that no key has. */
  findStandings(keyHashes: readonly Buffer[], signal?: AbortSignal): Promise<(KeyStanding | null)[]>;
}

export function createAccountStore(database: Lane): AccountStore {
  const listIds = createAccountList(database);
  return {
    insertAccount: ({ id, name, email, verified, dailyCapNano, openingNano = 0n, keyed = null, at }) =>
      database.transaction(async (transaction) => {
        const first = keyed === null ? null : await takeAccountKey(transaction, keyed, id, at);
        if (first !== null) return first === 'key_conflict' ? null : first.accountId;
        await transaction.query(insertAccount, [id, name, email, verified, at, dailyCapNano]);
        if (openingNano === 0n) return id;
        const topUp = { kind: 'top_up', amountNano: openingNano, memo: null, idempotencyKey: null } as const;
        await postEntry(transaction, { accountId: id, ...topUp, at });
        return id;
      }),
    updateAccount: (id, change, at) =>
      database.transaction(async (transaction) => {
        const values = [change.name ?? null, change.email ?? null, change.verified ?? null, change.status ?? null];
        const [row] = await transaction.query<AccountRow>(updateAccount, [
          id,
          ...values,
          at,
          change.statusReason ?? null,
        ]);
        if (row === undefined) return null;
        await notify(transaction, id);
        return toAccount(row);
      }),
    async findAccount(id) {
      const [row] = await database.query<AccountRow>(selectAccount, [id]);
      return row === undefined ? null : toAccount(row);
    },
    async listAccounts(filter, beforeId, limit, timing = UNHURRIED) {
      const { items, next } = await listIds(filter, beforeId, limit, timing);
      const rows = items.length === 0 ? [] : await database.query<AccountRow>(selectListed, [toArray(items)]);
      return { items: rows.map(toAccount), next };
    },
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
      at,
    }) =>
      database.transaction(async (transaction) => {
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
        ]);
        const given = limits === undefined ? NO_LIMITS : await setKeyLimits(transaction, accountId, id, limits);
        const owner = { accountId, keyId: id };
        const rates = rateLimits === undefined ? NO_RATE_LIMITS : await setRateLimits(transaction, owner, rateLimits);
        return { key: toApiKey(row!), limits: given, rateLimits: rates };
      }),
    async listKeys(accountId, beforeId, limit) {
      const rows = await database.query<KeyRow>(listKeys, [accountId, beforeId, limit]);
      return rows.map(toApiKey);
    },
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
        await notify(transaction, row.account_id);
        return toApiKey(row);
      }),
    revokeKey: (keyId, at) =>
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<{ account_id: string }>(revokeKey, [keyId, at]);
        if (row === undefined) return null;
        await notify(transaction, row.account_id);
        return row.account_id;
      }),
    async findKey(keyId) {
      const [row] = await database.query<KeyRow>(selectKey, [keyId]);
      return row === undefined ? null : toApiKey(row);
    },
    announceChange: (accountId) => notify(database, accountId),
    findStandings: (keyHashes, signal) => findStandings(database, keyHashes, signal),
  };
}

function arrayOrNull(values: readonly string[] | null | undefined): string | null {
  return values == null ? null : toArray(values);
}

async function notify(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.query(notifyPrincipals, [accountId]);
}

function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    verified: row.verified,
    status: row.status,
    statusReason: row.status_reason,
    statusChangedAt: row.status_changed_at,
    createdAt: row.created_at,
  };
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
  };
}
