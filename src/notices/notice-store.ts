import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { instantColumn, type RowOf, selection, textColumn } from '../db/table.ts';
import { type BatchResult, takeFinderLock, tryFinderLock } from './finder-lock-store.ts';
import type { DueNotice } from './notice.ts';

/** This file stores notices. Each one is stored together with its deliveries, and once only for each occurrence (`dedupe_key`). */

const KEYS_ROWS = 500;
/** Number of notices that a batch deletes with their deliveries. */
const DELETED_ROWS = 500;

/**
 * Inserts notices. A receiver's cooldown does not become shorter. Uses notices_by_dedupe_key, notices_by_subject,
 * webhook_endpoints_by_account, memberships_by_account and users_by_operator_role.
 */
const insertNotices: Statement = {
  name: 'notices.insert',
  text: `with given as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $10::text[], $11::boolean[])
    as g (id, kind, account_id, subject, dedupe_key, data, quiet_ms, mail_user_id, is_for_owners)
),
added as (
  insert into notices (id, kind, account_id, subject, dedupe_key, data, at)
  select id, kind, account_id, subject, dedupe_key, data::jsonb, $8::timestamptz from given g
  where g.quiet_ms = 0 or not exists (
    select from notices n
    where n.kind = g.kind and n.subject = g.subject and n.at > $8::timestamptz - g.quiet_ms * interval '1 millisecond'
  )
  on conflict (dedupe_key) do nothing
  returning id, kind, account_id
),
for_owners as (select a.id, a.account_id from added a join given g on g.id = a.id where g.is_for_owners),
receivers as (
  select a.id as notice_id, e.id as receiver, 'operators' as channel
  from added a join webhook_endpoints e on e.account_id is null
  where e.status = 'active' and (e.events is null or a.kind = any (e.events))
  union all
  select a.id, e.id, 'accounts'
  from added a join webhook_endpoints e on e.account_id = a.account_id
  where e.status = 'active' and (e.events is null or a.kind = any (e.events))
  union all
  select a.id, 'mail:' || u.email, 'mail'
  from for_owners a join memberships m on m.account_id = a.account_id join users u on u.id = m.user_id
  where $9::boolean and m.role = 'owner' and u.status = 'active' and u.email is not null
  union all
  select a.id, 'mail:' || u.email, 'mail'
  from added a join given g on g.id = a.id join users u on u.id = g.mail_user_id
  where $9::boolean and u.status = 'active' and u.email is not null
  union all
  select a.id, 'mail:' || c.email, 'mail'
  from for_owners a join accounts c on c.id = a.account_id
  where $9::boolean and c.email is not null and not exists (
    select from memberships m join users u on u.id = m.user_id
    where m.account_id = a.account_id and m.role = 'owner' and u.status = 'active' and u.email is not null
  )
  union all
  select a.id, 'mail:' || u.email, 'mail'
  from added a join users u on u.operator_role = 'operator'
  where $9::boolean and a.account_id is null and u.status = 'active' and u.email is not null
),
queued as (
  insert into notice_deliveries (notice_id, receiver, status, next_attempt_at)
  select notice_id, receiver, 'pending', $8::timestamptz from receivers
  on conflict (notice_id, receiver) do nothing
),
woken as (
  insert into notice_receivers as r (receiver, channel, next_at)
  select distinct receiver, channel, $8::timestamptz from receivers order by receiver
  on conflict (receiver) do update set next_at = case when r.failures = 0 then least(r.next_at, excluded.next_at) else r.next_at end
)
select id from added`,
};

const startKeyProgress: Statement = {
  name: 'notices.start-key-progress',
  text: `insert into key_expiry_progress (days_left, expires_at, key_id) values ($1, $2, '')
on conflict (days_left) do nothing`,
};

const selectKeyProgress: Statement = {
  name: 'notices.select-key-progress',
  text: 'select expires_at, key_id from key_expiry_progress where days_left = $1 for update',
};

const setKeyProgress: Statement = {
  name: 'notices.set-key-progress',
  text: 'update key_expiry_progress set expires_at = $2, key_id = $3 where days_left = $1',
};

const EXPIRING_KEYS = selection({
  accountId: textColumn('account_id'),
  id: textColumn('id'),
  name: textColumn('name'),
  prefix: textColumn('prefix'),
  expiresAtMs: instantColumn('expires_at'),
});

export type ExpiringKey = RowOf<typeof EXPIRING_KEYS>;

/** Selects expiring keys, after the last one that was processed. Uses api_keys_by_expiry. */
const selectExpiringKeys: Statement = {
  name: 'notices.select-expiring-keys',
  text: `select ${EXPIRING_KEYS.list} from api_keys
where expires_at is not null and revoked_at is null and (expires_at, id) > ($1, $2) and expires_at <= $3
order by expires_at, id limit ${KEYS_ROWS}`,
};

/** Deletes notices before $1. One about a budget is kept for its month, until $2, so that it is not stored again in the same period. */
const deleteNotices: Statement = {
  name: 'notices.forget',
  text: `with old as (
  select id from notices where id < $1 and (kind <> 'provider.budget_nearly_used' or id < $2) order by id limit ${DELETED_ROWS}
),
deliveries as (delete from notice_deliveries d using old where d.notice_id = old.id)
delete from notices n using old where n.id = old.id returning n.id`,
};

export interface NewNotices {
  readonly atMs: number;
  readonly nextId: () => string;
  /** Whether there is a mail server. Without one, no mail deliveries are stored. */
  readonly hasMail: boolean;
}

export type NoticeStore = ReturnType<typeof createNoticeStore>;

export function createNoticeStore(directory: DirectoryPool) {
  return {
    /** Processes a batch of keys that expire before `untilMs` and were not yet processed for `daysLeft`. */
    noticeKeys: (
      daysLeft: number,
      untilMs: number,
      decide: (key: ExpiringKey) => DueNotice | null,
      options: NewNotices,
    ): Promise<BatchResult> =>
      directory.transaction(async (transaction) => {
        if (!(await tryFinderLock(transaction))) return 'elsewhere';
        // The first scan starts here, so keys with fewer days left cause no notice.
        const until = new Date(untilMs);
        await transaction.query(startKeyProgress, [daysLeft, until]);
        const [progress] = await transaction.query<{ expires_at: Date; key_id: string }>(selectKeyProgress, [daysLeft]);
        const { expires_at: behind, key_id: behindId } = progress!;
        const keys = EXPIRING_KEYS.all(await transaction.query(selectExpiringKeys, [behind, behindId, until]));
        const last = keys.at(-1);
        if (last !== undefined && keys.length === KEYS_ROWS) {
          await transaction.query(setKeyProgress, [daysLeft, new Date(last.expiresAtMs), last.id]);
        } else if (until > behind) {
          // Progress is stored even if no key expires: later keys would be announced with a wrong number of days.
          await transaction.query(setKeyProgress, [daysLeft, until, '']);
        }
        await addNotices(
          transaction,
          keys.map(decide).filter((notice) => notice !== null),
          options,
        );
        return keys.length === KEYS_ROWS ? 'more' : 'idle';
      }),
    /** Stores notices. A lock makes nodes do this one after another, so that they neither store one twice nor deadlock. */
    add: (notices: readonly DueNotice[], options: NewNotices) =>
      directory.transaction(async (transaction) => {
        await takeFinderLock(transaction);
        await addNotices(transaction, notices, options);
      }),
    /** @param budgetId the same for notices about budgets of providers, routes and credentials */
    deleteBefore: async (id: string, budgetId: string) => (await directory.query(deleteNotices, [id, budgetId])).length,
  };
}

/** Adds notices. Call this at most once in a transaction, because it locks receivers in the order of their names. */
export async function addNotices(
  transaction: DirectoryQueryable,
  notices: readonly DueNotice[],
  { atMs, nextId, hasMail }: NewNotices,
): Promise<void> {
  if (notices.length === 0) return;
  await transaction.query(insertNotices, [
    toArray(notices.map(nextId)),
    toArray(notices.map(({ kind }) => kind)),
    toArray(notices.map(({ accountId }) => accountId)),
    toArray(notices.map(({ subject }) => subject)),
    toArray(notices.map(({ dedupeKey }) => dedupeKey)),
    toArray(notices.map(({ data }) => JSON.stringify(data))),
    toArray(notices.map(({ quietMs }) => quietMs)),
    new Date(atMs),
    hasMail,
    toArray(notices.map(({ mailTo }) => mailTo?.userId ?? null)),
    toArray(notices.map(({ mailTo }) => mailTo?.owners ?? true)),
  ]);
}
