import type { Statement } from '../db/database.ts';
import type { DirectoryPool } from '../db/home-pools.ts';

/**
 * This file deletes users who were invited and have left all accounts; otherwise accounts could collect users without limit. The audit log,
 * links and keys keep the id or the name of deleted users.
 */

/** Days after a user has left the last account. Until then, a new invitation restores the user with the same password. */
export const LEFT_USERS_KEPT_DAYS = 30;

const PAGE_ROWS = 200;

/**
 * Deletes users who left before `$1`, a page at a time, with their sessions, links and identities. Operators, auditors and suspended users
 * stay, because deletion would undo a suspension; so do owners of keys that are valid at `$4`, because operators look them up. The subquery
 * runs for each user, because a join might read all keys. Uses users_by_leaving, api_keys_by_person and primary keys.
 */
export const forgetPage: Statement = {
  name: 'left-users.forget',
  text: `with page as materialized (
  select id, left_at, operator_role is null and status = 'active' as is_free from users
  where left_at < $1::timestamptz and (left_at, id) > ($2::timestamptz, $3::text)
  order by left_at, id limit ${PAGE_ROWS}
),
unneeded as materialized (
  select id from page p where is_free and (
    select true from api_keys k where k.user_id = p.id and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > $4::timestamptz)
    limit 1
  ) is null
),
gone as (
  delete from users where id = any (array(select id from unneeded))
    and left_at < $1::timestamptz and operator_role is null and status = 'active'
)
select left_at::text as left_at, id, (count(*) over ())::int as rows from page order by page.left_at desc, id desc limit 1`,
};

interface Page {
  /** Text, because a JavaScript date has less precision. */
  left_at: string;
  id: string;
  rows: number;
}

export function createLeftUserStore(database: DirectoryPool) {
  return {
    /** Deletes users. `nowMs`: a user with a key that is valid at this time stays. */
    async forgetLeftBefore(instantMs: number, nowMs: number, signal: AbortSignal): Promise<void> {
      const [before, now] = [new Date(instantMs), new Date(nowMs)];
      let last: Pick<Page, 'left_at' | 'id'> = { left_at: '1970-01-01T00:00:00Z', id: '' };
      while (!signal.aborted) {
        const [page] = await database.query<Page>(forgetPage, [before, last.left_at, last.id, now]);
        if (page === undefined || page.rows < PAGE_ROWS) return;
        last = page;
      }
    },
  };
}
