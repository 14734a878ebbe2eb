import { toTimestamp } from '../db/columns.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { dateColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { OperatorRole } from './actor.ts';
import { LIVING_TOKENS_MAX } from './admin-token.ts';

/** The SQL of named admin tokens. */

const TOKENS = selection({
  id: textColumn('id'),
  /** No two living tokens have the same one. */
  name: textColumn('name'),
  role: textColumn<OperatorRole>('role'),
  prefix: textColumn('prefix'),
  createdAt: dateColumn('created_at'),
  /** What whoever made it was called then. */
  createdBy: textColumn('created_by'),
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
  text: `insert into admin_tokens (id, name, role, token_hash, prefix, created_at, created_by, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
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

/** Plan: primary key. A token that is revoked already keeps its first date. */
const revokeToken: Statement = {
  name: 'admin-tokens.revoke',
  text: 'update admin_tokens set revoked_at = coalesce(revoked_at, $2::timestamptz) where id = $1 returning id',
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
  readonly role: OperatorRole;
  readonly tokenHash: Buffer;
  readonly prefix: string;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
  readonly at: Date;
}

export type AdminTokensStore = ReturnType<typeof createAdminTokensStore>;

export function createAdminTokensStore(database: DirectoryLane) {
  return {
    /** `name_taken`: a living token has the name; `too_many`: there are as many living ones as there may be. */
    insert: (token: NewAdminToken): Promise<AdminToken | 'name_taken' | 'too_many'> =>
      database.transaction(async (transaction) => {
        const { id, name, role, tokenHash, prefix, createdBy, expiresAt, at } = token;
        await transaction.query(lockTokens);
        await transaction.query(closeExpired, [name, at]);
        const [count] = await transaction.query<{ living: number; of_name: number }>(countLiving, [name, at]);
        if (count!.of_name > 0) return 'name_taken';
        if (count!.living >= LIVING_TOKENS_MAX) return 'too_many';
        const values = [id, name, role, tokenHash, prefix, at, createdBy, expiresAt];
        return TOKENS.read((await transaction.query(insertToken, values))[0]!);
      }),
    list: async (beforeId: string | null, limit: number) =>
      TOKENS.all(await database.query(listTokens, [beforeId, limit])),
    find: async (id: string) => TOKENS.first(await database.query(selectToken, [id])),
    /** `false` if there is no such token. */
    revoke: async (id: string, at: Date) => (await database.query(revokeToken, [id, at])).length > 0,
    /** The token of a text, by its hash; `null` if it is unknown, expired or revoked. */
    findLiving: async (tokenHash: Buffer, nowMs: number) =>
      TOKENS.first(await database.query(findLiving, [tokenHash, toTimestamp(nowMs)])),
    /** Notes a use, unless a later one than `unlessSinceMs` is noted. */
    async noteUse(id: string, usedAtMs: number, unlessSinceMs: number): Promise<void> {
      await database.query(noteUse, [id, toTimestamp(usedAtMs), toTimestamp(unlessSinceMs)]);
    },
  };
}
