import type { Statement } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';

/**
 * The SQL that forgets people who were invited to accounts and have left all of them, so that an account does not gather users that it
 * invites and removes. What names them (the change log, who has made a link or a key) says id or name itself.
 */

/** For how long a person who has left the last account is kept: until then the person is invited anew with the same password. */
export const LEFT_USERS_KEPT_DAYS = 30;

/** Users that are looked at in one statement. */
const PAGE_ROWS = 200;

/**
 * The next page of those who have left before `$1`, behind a user, and without those of them that nobody needs any more; sessions,
 * links and identities go with them. Who has come back meanwhile has no instant of leaving, and stays. So do operators and auditors;
 * who is suspended, because it would be undone; and whoever has a key that can be used at `$4`, because it is asked whose that is.
 * Each is looked up by itself, because a join might read all keys. Plans: users_by_leaving, api_keys_by_person, primary keys.
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
  /** Text, because an instant of JavaScript is shorter. */
  left_at: string;
  id: string;
  rows: number;
}

export function createLeftUserStore(database: DirectoryLane) {
  return {
    /** Forgets people who left their last account before an instant. `nowMs`: when keys can be used. */
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
