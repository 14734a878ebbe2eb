import { toTimestamp } from '../db/columns.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { dateColumn, listColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { OperatorRole, TokenScope } from './actor.ts';
import { ACTIVE_TOKENS_MAX } from './admin-token.ts';

const TOKENS = selection({
  id: textColumn('id'),
  name: textColumn('name'),
  /** Role of the token; `null`: it can do only what its scopes allow. */
  role: orNull(textColumn<OperatorRole>('role')),
  scopes: listColumn<TokenScope>('scopes'),
  prefix: textColumn('prefix'),
  createdAt: dateColumn('created_at'),
  createdBy: textColumn('created_by'),
  /** Token that created this one, which ends together with it; `null`: no token did. */
  madeByTokenId: orNull(textColumn('made_by_token_id')),
  expiresAt: orNull(dateColumn('expires_at')),
  revokedAt: orNull(dateColumn('revoked_at')),
  lastUsedAt: orNull(dateColumn('last_used_at')),
});

export type AdminToken = RowOf<typeof TOKENS>;

/** Locks the table, so that tokens are created one at a time and the limits are exact. Readers do not wait. */
const lockTokens: Statement = {
  name: 'admin-tokens.lock',
  text: 'lock table admin_tokens in share row exclusive mode',
};

/** Frees the name of an expired token. Uses admin_tokens_by_name. */
const closeExpired: Statement = {
  name: 'admin-tokens.close-expired',
  text: `update admin_tokens set revoked_at = expires_at
where name = $1 and revoked_at is null and expires_at <= $2::timestamptz`,
};

/** Counts active tokens. Uses admin_tokens_by_name, which has the active tokens and a few expired ones. */
const countActive: Statement = {
  name: 'admin-tokens.count-living',
  text: `select count(*)::int as living, count(*) filter (where name = $1)::int as of_name
from admin_tokens where revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)`,
};

const insertToken: Statement = {
  name: 'admin-tokens.insert',
  text: `insert into admin_tokens (id, name, role, scopes, token_hash, prefix, created_at, created_by, made_by_token_id, expires_at)
values ($1, $2, $3, $4::text[], $5, $6, $7, $8, $9, $10)
returning ${TOKENS.list}`,
};

/** Selects tokens, newest first, because ids sort by time. */
const listTokens: Statement = {
  name: 'admin-tokens.list',
  text: `select ${TOKENS.list} from admin_tokens where ($1::text is null or id < $1) order by id desc limit $2::int`,
};

const selectToken: Statement = {
  name: 'admin-tokens.select',
  text: `select ${TOKENS.list} from admin_tokens where id = $1`,
};

/** Revokes a token and, if $3 is true, all tokens that it created, directly or not. Those that have ended keep the time of their end. */
const revokeToken: Statement = {
  name: 'admin-tokens.revoke',
  text: `with recursive ended as (
  select id from admin_tokens where id = $1
  union
  select made.id from admin_tokens made join ended on made.made_by_token_id = ended.id where $3::boolean
)
update admin_tokens set revoked_at = coalesce(revoked_at, least($2::timestamptz, expires_at)) where id in (select id from ended)
returning id`,
};

/** Makes the tokens that an ending token created independent of it. Uses admin_tokens_by_maker. */
const keepTokens: Statement = {
  name: 'admin-tokens.keep-tokens',
  text: 'update admin_tokens set made_by_token_id = null where made_by_token_id = $1',
};

const keepUsers: Statement = {
  name: 'admin-tokens.keep-users',
  text: 'update users set unconfirmed_token_id = null where unconfirmed_token_id = $1',
};

/** Suspends users that an ended token created, unless an operator has confirmed them. Uses users_by_unconfirmed_token. */
const suspendUnconfirmed: Statement = {
  name: 'admin-tokens.suspend-unconfirmed',
  text: `update users set status = 'suspended'
where unconfirmed_token_id in (select jsonb_array_elements_text($1::jsonb)) and status = 'active' returning id`,
};

const endSessions: Statement = {
  name: 'admin-tokens.end-sessions',
  text: 'delete from sessions where user_id in (select jsonb_array_elements_text($1::jsonb))',
};

const voidLinks: Statement = {
  name: 'admin-tokens.void-links',
  text: 'delete from user_links where used_at is null and user_id in (select jsonb_array_elements_text($1::jsonb))',
};

/** Selects ended tokens that created users or tokens which are still active. Uses admin_tokens_by_maker and users_by_unconfirmed_token. */
const listEnded: Statement = {
  name: 'admin-tokens.list-ended',
  text: `select id from admin_tokens t where (revoked_at is not null or expires_at <= $1::timestamptz) and (
  exists (select from users u where u.unconfirmed_token_id = t.id and u.status = 'active')
  or exists (select from admin_tokens made where made.made_by_token_id = t.id and made.revoked_at is null)
)`,
};

/** Locks a token. A transaction that ends the token waits for this one, and then also ends what this one has created. */
const lockActiveToken: Statement = {
  name: 'admin-tokens.lock-living',
  text: `select id from admin_tokens
where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz) for share`,
};

const findActive: Statement = {
  name: 'admin-tokens.find-living',
  text: `select ${TOKENS.list} from admin_tokens
where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)`,
};

/** Records a use. If several nodes do this at once, only one of them writes. */
const noteUse: Statement = {
  name: 'admin-tokens.note-use',
  text: `update admin_tokens set last_used_at = $2::timestamptz
where id = $1 and (last_used_at is null or last_used_at <= $3::timestamptz)`,
};

export interface NewAdminToken {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
  readonly madeByTokenId: string | null;
  readonly tokenHash: Buffer;
  readonly prefix: string;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
  readonly at: Date;
}

/** Whether a token is active. If so, it cannot end before the transaction does. */
export async function isActive(transaction: DirectoryQueryable, tokenId: string, at: Date): Promise<boolean> {
  return (await transaction.query(lockActiveToken, [tokenId, at])).length > 0;
}

export type AdminTokensStore = ReturnType<typeof createAdminTokensStore>;

export function createAdminTokensStore(database: DirectoryPool) {
  return {
    /** Inserts a token. Only active tokens count for `name_taken` and `too_many`. `token_ended`: the creating token has ended. */
    insert: (token: NewAdminToken): Promise<AdminToken | 'name_taken' | 'too_many' | 'token_ended'> =>
      database.transaction(async (transaction) => {
        const { id, name, role, scopes, madeByTokenId, tokenHash, prefix, createdBy, expiresAt, at } = token;
        await transaction.query(lockTokens);
        if (madeByTokenId !== null && !(await isActive(transaction, madeByTokenId, at))) return 'token_ended';
        await transaction.query(closeExpired, [name, at]);
        const [count] = await transaction.query<{ living: number; of_name: number }>(countActive, [name, at]);
        if (count!.of_name > 0) return 'name_taken';
        if (count!.living >= ACTIVE_TOKENS_MAX) return 'too_many';
        // Without quotes, because scopes come from a fixed list.
        const list = `{${scopes.join(',')}}`;
        const values = [id, name, role, list, tokenHash, prefix, at, createdBy, madeByTokenId, expiresAt];
        return TOKENS.read((await transaction.query(insertToken, values))[0]!);
      }),
    list: async (beforeId: string | null, limit: number) =>
      TOKENS.all(await database.query(listTokens, [beforeId, limit])),
    find: async (id: string) => TOKENS.first(await database.query(selectToken, [id])),
    /**
     * Revokes a token and all tokens that it created, and suspends their unconfirmed users. With `keepsMade`, revokes only this token, and
     * confirms what it created. Returns `false` if there is no such token.
     */
    revoke: (id: string, at: Date, keepsMade: boolean) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockTokens);
        const ended = await transaction.query<{ id: string }>(revokeToken, [id, at, !keepsMade]);
        if (keepsMade) {
          await transaction.query(keepTokens, [id]);
          await transaction.query(keepUsers, [id]);
        } else {
          const tokens = JSON.stringify(ended.map((token) => token.id));
          const suspended = await transaction.query<{ id: string }>(suspendUnconfirmed, [tokens]);
          const users = JSON.stringify(suspended.map((user) => user.id));
          await transaction.query(endSessions, [users]);
          await transaction.query(voidLinks, [users]);
        }
        return ended.length > 0;
      }),
    listEnded: async (nowMs: number) =>
      (await database.query<{ id: string }>(listEnded, [toTimestamp(nowMs)])).map(({ id }) => id),
    findActive: async (tokenHash: Buffer, nowMs: number) =>
      TOKENS.first(await database.query(findActive, [tokenHash, toTimestamp(nowMs)])),
    /** Records a use, unless one after `unlessSinceMs` is recorded. */
    async noteUse(id: string, usedAtMs: number, unlessSinceMs: number): Promise<void> {
      await database.query(noteUse, [id, toTimestamp(usedAtMs), toTimestamp(unlessSinceMs)]);
    },
  };
}
