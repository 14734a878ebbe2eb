import { writeRows } from '../db/columns.ts';
import { type Lane, type Queryable, type Statement, toArray } from '../db/database.ts';
import {
  bigintColumn,
  countColumn,
  instantColumn,
  orNull,
  type RowOf,
  selection,
  tableColumns,
  textColumn,
} from '../db/table.ts';
import type { AccountDecision, AccountFacts, NoticeState } from './account-decision.ts';
import type { DueNotice } from './notice.ts';

/**
 * The SQL that finds and stores notices. What follows from a change of an account is decided in the transaction that takes the
 * change from its queue, so a crash undoes both; a notice is stored with a delivery for each of its receivers, or not at all.
 */

/**
 * Rows of the queue in a slice: one has the accounts of some batches of calls, or a single one. No further row is taken behind so
 * many accounts. Many small rows at a time, because each slice goes over the dead rows of those before it.
 */
const CHANGES_ROWS = 500;
const CHANGES_ACCOUNTS = 1_000;
/** Keys in a slice. */
const KEYS_ROWS = 500;
/** Notices that are deleted in a slice, with their deliveries. */
const FORGET_ROWS = 500;

/** Arbitrary, but the same for every node. The node that has it works; the others do something else. */
const FINDER_LOCK = 7_212_202_640;

const tryLock: Statement = {
  name: 'notices.try-lock',
  text: `select pg_try_advisory_xact_lock(${FINDER_LOCK}) as is_ours`,
};
const waitForLock: Statement = { name: 'notices.lock', text: `select pg_advisory_xact_lock(${FINDER_LOCK})` };

/** Plan: the queue is short and read from its start. */
const takeChanges: Statement = {
  name: 'notices.take-changes',
  text: `delete from account_changes where ctid = any (array(
  select ctid from (
    select ctid, sum(cardinality(account_ids)) over (rows between unbounded preceding and 1 preceding) as accounts_before
    from (select ctid, account_ids from account_changes limit ${CHANGES_ROWS}) first_ones
  ) counted
  where coalesce(accounts_before, 0) < ${CHANGES_ACCOUNTS}
))
returning account_ids`,
};

const BALANCES = selection({
  accountId: textColumn('account_id'),
  balanceNano: bigintColumn('balance_nano'),
  lastEntryNo: bigintColumn('last_entry_no'),
});

/** Plan: primary key, as the next one. */
const selectBalances: Statement = {
  name: 'notices.select-balances',
  text: `select ${BALANCES.list} from balances where account_id = any ($1::text[])`,
};

const THRESHOLDS = selection({ id: textColumn('id'), lowBalanceNano: orNull(bigintColumn('low_balance_nano')) });

/** Behind the queue: whoever sets a threshold queues its account with that. */
const selectThresholds: Statement = {
  name: 'notices.select-thresholds',
  text: `select ${THRESHOLDS.list} from accounts where id = any ($1::text[])`,
};

const SUBSCRIPTIONS = selection({
  accountId: textColumn('account_id'),
  id: textColumn('id'),
  planId: textColumn('plan_id'),
  startsAtMs: instantColumn('starts_at'),
  endsAtMs: instantColumn('ends_at'),
  weekBeganAtMs: instantColumn('week_began_at'),
  weekCalls: countColumn('week_calls'),
  periodBeganAtMs: instantColumn('period_began_at'),
  periodTokens: countColumn('period_tokens'),
});

/** Plan: primary key, the subscriptions of each account. */
const selectSubscriptions: Statement = {
  name: 'notices.select-subscriptions',
  text: `select ${SUBSCRIPTIONS.list}
from subscriptions where account_id = any ($1::text[]) and canceled_at is null and starts_at <= $2 and ends_at > $2`,
};

const STATES = tableColumns({
  accountId: textColumn('account_id'),
  subject: textColumn('subject'),
  occurrence: textColumn('occurrence'),
  level: countColumn('level'),
});

/** Plan: primary key. */
const selectStates: Statement = {
  name: 'notices.select-states',
  text: `select ${STATES.list} from notice_states where account_id = any ($1::text[])`,
};

const upsertStates: Statement = {
  name: 'notices.upsert-states',
  text: `insert into notice_states (${STATES.list})
select * from ${STATES.unnest}
on conflict (account_id, subject) do update set occurrence = excluded.occurrence, level = excluded.level`,
};

const deleteStates: Statement = {
  name: 'notices.delete-states',
  text: `delete from notice_states s using unnest($1::text[], $2::text[]) as v (account_id, subject)
where s.account_id = v.account_id and s.subject = v.subject`,
};

/**
 * Stores notices that are not there yet, with a delivery for each receiver. Receivers that rest after failures go on to do so.
 *
 * Plan: notices_by_dedupe_key, notices_by_subject, webhook_endpoints_by_account, memberships_by_account,
 * users_by_operator_role.
 */
const insertNotices: Statement = {
  name: 'notices.insert',
  text: `with given as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as g (id, kind, account_id, subject, dedupe_key, data, quiet_ms)
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
  from added a join memberships m on m.account_id = a.account_id join users u on u.id = m.user_id
  where $9::boolean and m.role = 'owner' and u.status = 'active' and u.email is not null
  union all
  select a.id, 'mail:' || c.email, 'mail'
  from added a join accounts c on c.id = a.account_id
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

/** A key that expires soon. */
const EXPIRING_KEYS = selection({
  accountId: textColumn('account_id'),
  id: textColumn('id'),
  name: textColumn('name'),
  prefix: textColumn('prefix'),
  expiresAtMs: instantColumn('expires_at'),
});

export type ExpiringKey = RowOf<typeof EXPIRING_KEYS>;

/** Plan: api_keys_by_expiry, behind the last key that was looked at. */
const selectExpiringKeys: Statement = {
  name: 'notices.select-expiring-keys',
  text: `select ${EXPIRING_KEYS.list} from api_keys
where expires_at is not null and revoked_at is null and (expires_at, id) > ($1, $2) and expires_at <= $3
order by expires_at, id limit ${KEYS_ROWS}`,
};

/** Plan: primary keys; ids sort by time. */
const forgetNotices: Statement = {
  name: 'notices.forget',
  text: `with old as (select id from notices where id < $1 order by id limit ${FORGET_ROWS}),
deliveries as (delete from notice_deliveries d using old where d.notice_id = old.id)
delete from notices n using old where n.id = old.id returning n.id`,
};

/** What a slice did: `more` where there may be more to do, `idle` if there is nothing, `elsewhere` if another node works. */
export type SliceResult = 'more' | 'idle' | 'elsewhere';

export interface NewNotices {
  readonly atMs: number;
  readonly nextId: () => string;
  /** Whether mail is configured: without it nobody gets any. */
  readonly hasMail: boolean;
}

export interface NoticeStore {
  /** Decides on some accounts that have changed, and stores what is due. */
  noticeChanges(
    decide: (facts: AccountFacts, states: ReadonlyMap<string, NoticeState>) => AccountDecision,
    options: NewNotices,
  ): Promise<SliceResult>;
  /** Stores what is due of some keys that expire until an instant and were not looked at yet with so many days left. */
  noticeKeys(
    daysLeft: number,
    untilMs: number,
    decide: (key: ExpiringKey) => DueNotice | null,
    options: NewNotices,
  ): Promise<SliceResult>;
  /** Stores notices that a node has. Nodes do so one after the other, so none says what another one has said. */
  add(notices: readonly DueNotice[], options: NewNotices): Promise<void>;
  /** Deletes some notices that are older than an id; returns how many. */
  forgetBefore(id: string): Promise<number>;
}

export function createNoticeStore(database: Lane): NoticeStore {
  /** Runs work if no other node does the like. */
  function alone(work: (transaction: Queryable) => Promise<SliceResult>): Promise<SliceResult> {
    return database.transaction(async (transaction) => {
      const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock);
      return lock?.is_ours === true ? work(transaction) : 'elsewhere';
    });
  }

  return {
    noticeChanges: (decide, options) =>
      alone(async (transaction) => {
        const taken = await transaction.query<{ account_ids: string[] }>(takeChanges);
        if (taken.length === 0) return 'idle';
        const ids = toArray([...new Set(taken.flatMap(({ account_ids }) => account_ids))]);
        const facts = await readFacts(transaction, ids, options.atMs);
        const known = STATES.all(await transaction.query(selectStates, [ids]));
        const states = Map.groupBy(known, ({ accountId }) => accountId);
        const decisions = facts.map((each) => ({
          accountId: each.accountId,
          ...decide(each, new Map(states.get(each.accountId)?.map((state) => [state.subject, state]))),
        }));
        await writeStates(transaction, decisions);
        await addNotices(
          transaction,
          decisions.flatMap(({ notices }) => notices),
          options,
        );
        return 'more';
      }),
    noticeKeys: (daysLeft, untilMs, decide, options) =>
      alone(async (transaction) => {
        // Keys that had fewer days left when this began to be watched are not told of.
        const until = new Date(untilMs);
        await transaction.query(startKeyProgress, [daysLeft, until]);
        const [progress] = await transaction.query<{ expires_at: Date; key_id: string }>(selectKeyProgress, [daysLeft]);
        const { expires_at: behind, key_id: behindId } = progress!;
        const keys = EXPIRING_KEYS.all(await transaction.query(selectExpiringKeys, [behind, behindId, until]));
        const last = keys.at(-1);
        if (last !== undefined && keys.length === KEYS_ROWS) {
          await transaction.query(setKeyProgress, [daysLeft, new Date(last.expiresAtMs), last.id]);
        } else if (until > behind) {
          // Past if no key was too, so that one that is made there later is not told of with days that it does not have.
          await transaction.query(setKeyProgress, [daysLeft, until, '']);
        }
        await addNotices(
          transaction,
          keys.map(decide).filter((notice) => notice !== null),
          options,
        );
        return keys.length === KEYS_ROWS ? 'more' : 'idle';
      }),
    add: (notices, options) =>
      database.transaction(async (transaction) => {
        await transaction.query(waitForLock);
        await addNotices(transaction, notices, options);
      }),
    forgetBefore: async (id) => (await database.query(forgetNotices, [id])).length,
  };
}

async function addNotices(
  transaction: Queryable,
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
  ]);
}

async function writeStates(
  transaction: Queryable,
  decisions: readonly (AccountDecision & { readonly accountId: string })[],
): Promise<void> {
  const states = decisions.flatMap((each) => each.states);
  for (const { statement, parameters } of writeRows(upsertStates, states, STATES.values)) {
    await transaction.query(statement, parameters);
  }
  const cleared = decisions.flatMap(({ accountId, cleared }) => cleared.map((subject) => ({ accountId, subject })));
  if (cleared.length > 0) {
    await transaction.query(deleteStates, [
      toArray(cleared.map(({ accountId }) => accountId)),
      toArray(cleared.map(({ subject }) => subject)),
    ]);
  }
}

async function readFacts(transaction: Queryable, ids: string, atMs: number): Promise<AccountFacts[]> {
  const balances = BALANCES.all(await transaction.query(selectBalances, [ids]));
  const accounts = THRESHOLDS.all(await transaction.query(selectThresholds, [ids]));
  const lowBalanceOf = new Map(accounts.map(({ id, lowBalanceNano }) => [id, lowBalanceNano]));
  const active = SUBSCRIPTIONS.all(await transaction.query(selectSubscriptions, [ids, new Date(atMs)]));
  const subscriptions = Map.groupBy(active, ({ accountId }) => accountId);
  return balances.flatMap((balance) => {
    const lowBalanceNano = lowBalanceOf.get(balance.accountId);
    if (lowBalanceNano === undefined) return [];
    return [{ ...balance, lowBalanceNano, subscriptions: subscriptions.get(balance.accountId) ?? [] }];
  });
}
