import { toTimestamp } from '../db/columns.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryLane, DirectoryQueryable } from '../db/home-lanes.ts';
import { dateColumn, listColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { OperatorRole, TokenScope } from './actor.ts';
import { LIVING_TOKENS_MAX } from './admin-token.ts';

/** The SQL of named admin tokens. */

const TOKENS = selection({
  id: textColumn('id'),
  /** No two living tokens have the same one. */
  name: textColumn('name'),
  /** `null`: it may do what its scopes say, and nothing else. */
  role: orNull(textColumn<OperatorRole>('role')),
  scopes: listColumn<TokenScope>('scopes'),
  prefix: textColumn('prefix'),
  createdAt: dateColumn('created_at'),
  /** What whoever made it was called then. */
  createdBy: textColumn('created_by'),
  /** The token that made it, with which it ends; `null`: no token did. */
  madeByTokenId: orNull(textColumn('made_by_token_id')),
  expiresAt: orNull(dateColumn('expires_at')),
  revokedAt: orNull(dateColumn('revoked_at')),
  lastUsedAt: orNull(dateColumn('last_used_at')),
});

/** A named admin token, without its text, of which only a hash is stored. */
export type AdminToken = RowOf<typeof TOKENS>;

/** Creations wait for each other, so that they count exactly; readers wait for none of them. */
const lockTokens: Statement = {
  name: 'admin-tokens.lock',
  text: 'lock table admin_tokens in share row exclusive mode',
};

/** What has expired gives its name back. By admin_tokens_by_name. */
const closeExpired: Statement = {
  name: 'admin-tokens.close-expired',
  text: `update admin_tokens set revoked_at = expires_at
where name = $1 and revoked_at is null and expires_at <= $2::timestamptz`,
};

/** By admin_tokens_by_name, which has the living tokens and a few that have expired. */
const countLiving: Statement = {
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

/** Newest first: ids sort by time. Plan: primary key. */
const listTokens: Statement = {
  name: 'admin-tokens.list',
  text: `select ${TOKENS.list} from admin_tokens where ($1::text is null or id < $1) order by id desc limit $2::int`,
};

/** Plan: primary key. */
const selectToken: Statement = {
  name: 'admin-tokens.select',
  text: `select ${TOKENS.list} from admin_tokens where id = $1`,
};

/**
 * Revokes a token and, if $3, all tokens that it made, directly or by another one. A token that has ended keeps its first date. Plans: primary
 * key, admin_tokens_by_maker.
 */
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

/** Keeps the tokens that a token made. Plan: admin_tokens_by_maker. */
const keepTokens: Statement = {
  name: 'admin-tokens.keep-tokens',
  text: 'update admin_tokens set made_by_token_id = null where made_by_token_id = $1',
};

/** Plan: users_by_unconfirmed_token. */
const keepUsers: Statement = {
  name: 'admin-tokens.keep-users',
  text: 'update users set unconfirmed_token_id = null where unconfirmed_token_id = $1',
};

/** Suspends unconfirmed users of these tokens. Plan: users_by_unconfirmed_token. */
const suspendUnconfirmed: Statement = {
  name: 'admin-tokens.suspend-unconfirmed',
  text: `update users set status = 'suspended'
where unconfirmed_token_id in (select jsonb_array_elements_text($1::jsonb)) and status = 'active' returning id`,
};

/** Plans: sessions_by_user, user_links_by_user. */
const endSessions: Statement = {
  name: 'admin-tokens.end-sessions',
  text: 'delete from sessions where user_id in (select jsonb_array_elements_text($1::jsonb))',
};

const voidLinks: Statement = {
  name: 'admin-tokens.void-links',
  text: 'delete from user_links where used_at is null and user_id in (select jsonb_array_elements_text($1::jsonb))',
};

/**
 * Revoked and expired tokens with an active user or a living token that they made. Plans: admin_tokens_by_maker,
 * users_by_unconfirmed_token.
 */
const listEnded: Statement = {
  name: 'admin-tokens.list-ended',
  text: `select id from admin_tokens t where (revoked_at is not null or expires_at <= $1::timestamptz) and (
  exists (select from users u where u.unconfirmed_token_id = t.id and u.status = 'active')
  or exists (select from admin_tokens made where made.made_by_token_id = t.id and made.revoked_at is null)
)`,
};

/** Locks a living token, so that its end waits for this transaction and includes what it makes. Uses the primary key. */
const lockLiving: Statement = {
  name: 'admin-tokens.lock-living',
  text: `select id from admin_tokens
where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz) for share`,
};

/** By the unique index admin_tokens_by_hash. */
const findLiving: Statement = {
  name: 'admin-tokens.find-living',
  text: `select ${TOKENS.list} from admin_tokens
where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)`,
};

/** Plan: primary key. Of several nodes, one writes. */
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

/** Whether a token has not ended; until the end of the transaction it does not. */
export async function isLiving(transaction: DirectoryQueryable, tokenId: string, at: Date): Promise<boolean> {
  return (await transaction.query(lockLiving, [tokenId, at])).length > 0;
}

export type AdminTokensStore = ReturnType<typeof createAdminTokensStore>;

export function createAdminTokensStore(database: DirectoryLane) {
  return {
    /**
     * `name_taken`: a living token has the name; `too_many`: the most living tokens exist; `token_ended`: the token that makes it has ended.
     */
    insert: (token: NewAdminToken): Promise<AdminToken | 'name_taken' | 'too_many' | 'token_ended'> =>
      database.transaction(async (transaction) => {
        const { id, name, role, scopes, madeByTokenId, tokenHash, prefix, createdBy, expiresAt, at } = token;
        await transaction.query(lockTokens);
        if (madeByTokenId !== null && !(await isLiving(transaction, madeByTokenId, at))) return 'token_ended';
        await transaction.query(closeExpired, [name, at]);
        const [count] = await transaction.query<{ living: number; of_name: number }>(countLiving, [name, at]);
        if (count!.of_name > 0) return 'name_taken';
        if (count!.living >= LIVING_TOKENS_MAX) return 'too_many';
        // Words of a list of ours, which need no quotes.
        const list = `{${scopes.join(',')}}`;
        const values = [id, name, role, list, tokenHash, prefix, at, createdBy, madeByTokenId, expiresAt];
        return TOKENS.read((await transaction.query(insertToken, values))[0]!);
      }),
    list: async (beforeId: string | null, limit: number) =>
      TOKENS.all(await database.query(listTokens, [beforeId, limit])),
    find: async (id: string) => TOKENS.first(await database.query(selectToken, [id])),
    /**
     * Revokes a token and the tokens that it made, and suspends the unconfirmed users of all of them. `keepsMade`: revokes the token alone, and
     * confirms what it made. `false` if there is no such token.
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
    /** The ended tokens that have active users or living tokens. */
    listEnded: async (nowMs: number) =>
      (await database.query<{ id: string }>(listEnded, [toTimestamp(nowMs)])).map(({ id }) => id),
    /** The token of a text, by its hash; `null` if it is unknown, expired or revoked. */
    findLiving: async (tokenHash: Buffer, nowMs: number) =>
      TOKENS.first(await database.query(findLiving, [tokenHash, toTimestamp(nowMs)])),
    /** Notes a use, unless a later one than `unlessSinceMs` is noted. */
    async noteUse(id: string, usedAtMs: number, unlessSinceMs: number): Promise<void> {
      await database.query(noteUse, [id, toTimestamp(usedAtMs), toTimestamp(unlessSinceMs)]);
    },
  };
}
