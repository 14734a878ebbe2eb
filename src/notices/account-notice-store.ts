import { fieldsOf, writeRows } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { PartitionLane, PartitionQueryable } from '../db/home-lanes.ts';
import {
  bigintColumn,
  countColumn,
  instantColumn,
  jsonbColumn,
  selection,
  tableColumns,
  textColumn,
} from '../db/table.ts';
import type { AccountDecision, AccountFacts, NoticeState } from './account-decision.ts';
import { alone, type SliceResult } from './finder-lock-store.ts';
import type { DueNotice } from './notice.ts';

/**
 * The SQL of a partition that finds what accounts are told of. It is decided in the transaction that takes a change of an account from its
 * queue: what is said of the account from then on, and which notices are due. These stay here until the directory has them.
 */

/**
 * Rows of the queue in a slice: one has the accounts of some batches of calls, or a single one. No further row is taken behind so
 * many accounts. Many small rows at a time, because each slice goes over the dead rows of those before it.
 */
const CHANGES_ROWS = 500;
const CHANGES_ACCOUNTS = 1_000;
/** Notices that go to the directory at a time. */
const DUE_ROWS = 500;

/** Plan: the queue is short and read from its start. */
const readChanges: Statement = {
  name: 'notices.read-changes',
  text: `select place, made_by, account_ids from (
  select ctid::text as place, xmin::text as made_by, account_ids,
    sum(cardinality(account_ids)) over (rows between unbounded preceding and 1 preceding) as accounts_before
  from (select ctid, xmin, account_ids from account_changes limit ${CHANGES_ROWS}) first_ones
) counted
where coalesce(accounts_before, 0) < ${CHANGES_ACCOUNTS}`,
};

/** Those that were read, and that no other node has taken: a row that is at one of these places since then is of another transaction. */
const takeChanges: Statement = {
  name: 'notices.take-changes',
  text: `delete from account_changes where ctid = any ($1::tid[]) and xmin = any ($2::xid[]) returning account_ids`,
};

/** Accounts are looked at anew. */
const queueAccounts: Statement = {
  name: 'notices.queue-accounts',
  text: 'insert into account_changes (account_ids) values ($1::text[])',
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

const DUE = tableColumns({
  accountId: textColumn('account_id'),
  dedupeKey: textColumn('dedupe_key'),
  kind: textColumn<DueNotice['kind']>('kind'),
  subject: textColumn('subject'),
  data: jsonbColumn<DueNotice['data']>('data'),
});

const insertDue: Statement = {
  name: 'notices.insert-due',
  text: `insert into due_notices (${DUE.list}, due_at) select v.*, $6::timestamptz from ${DUE.unnest} as v
on conflict (account_id, dedupe_key) do nothing`,
};

/** Plan: due_notices_by_time. */
const selectDue: Statement = {
  name: 'notices.select-due',
  text: `select ${DUE.list} from due_notices order by due_at, dedupe_key limit ${DUE_ROWS}`,
};

/** Plan: primary key. */
const deleteDue: Statement = {
  name: 'notices.delete-due',
  text: `delete from due_notices d using unnest($1::text[], $2::text[]) as v (account_id, dedupe_key)
where d.account_id = v.account_id and d.dedupe_key = v.dedupe_key`,
};

/** What has changed, as it was read from the queue. */
interface ReadChanges {
  readonly accountIds: readonly string[];
  /** Where its rows are, and the transactions that have made them, as array parameters. */
  readonly places: string;
  readonly makers: string;
}

/** The thresholds of `balance.low` of accounts that are there; `null`: the configuration's. */
export type Thresholds = ReadonlyMap<string, bigint | null>;

export type AccountNoticeStore = ReturnType<typeof createAccountNoticeStore>;

/** @param number that of the partition. */
export function createAccountNoticeStore(partition: PartitionLane, number = 0) {
  return {
    /** Some accounts that have changed; `null`: none. They stay in the queue. */
    async readChanges(): Promise<ReadChanges | null> {
      const rows = await partition.query<ChangesRow & { place: string; made_by: string }>(readChanges);
      if (rows.length === 0) return null;
      return {
        accountIds: accountsOf(rows),
        places: toArray(rows.map(({ place }) => place)),
        makers: toArray(rows.map((row) => row.made_by)),
      };
    },
    /**
     * Takes them from the queue, those that are there still, and decides on their accounts.
     *
     * @param thresholds read after the changes; an account that has none here is left out.
     */
    decideChanges: (
      { places, makers }: ReadChanges,
      thresholds: Thresholds,
      decide: (facts: AccountFacts, states: ReadonlyMap<string, NoticeState>) => AccountDecision,
      atMs: number,
    ): Promise<SliceResult> =>
      alone(
        partition,
        async (transaction) => {
          const taken = await transaction.query<ChangesRow>(takeChanges, [places, makers]);
          const ids = toArray(accountsOf(taken));
          const facts = await readFacts(transaction, ids, thresholds, atMs);
          const known = STATES.all(await transaction.query(selectStates, [ids]));
          const states = Map.groupBy(known, ({ accountId }) => accountId);
          const decisions = facts.map((each) => ({
            accountId: each.accountId,
            ...decide(each, new Map(states.get(each.accountId)?.map((state) => [state.subject, state]))),
          }));
          await writeStates(transaction, decisions);
          await writeDue(transaction, decisions, atMs);
          return 'more';
        },
        number,
      ),
    /** Has accounts looked at anew. */
    async queue(accountIds: readonly string[]): Promise<void> {
      await partition.query(queueAccounts, [toArray(accountIds)]);
    },
    /** Some of the notices that are due, first those that have been so for longest. */
    async listDue(): Promise<readonly DueNotice[]> {
      const due = DUE.all(await partition.query(selectDue));
      return due.map((each): DueNotice => ({ ...each, quietMs: 0 }));
    },
    /** The directory has them. */
    async deleteDue(notices: readonly DueNotice[]): Promise<void> {
      await partition.query(deleteDue, fieldsOf(notices, 'accountId', 'dedupeKey'));
    },
  };
}

/** A row of the queue. */
interface ChangesRow {
  account_ids: string[];
}

const accountsOf = (rows: readonly ChangesRow[]): string[] => [...new Set(rows.flatMap(({ account_ids: ids }) => ids))];

type DecisionOf = AccountDecision & { readonly accountId: string };

async function writeStates(transaction: PartitionQueryable, decisions: readonly DecisionOf[]): Promise<void> {
  const states = decisions.flatMap((each) => each.states);
  for (const { statement, parameters } of writeRows(upsertStates, states, STATES.values)) {
    await transaction.query(statement, parameters);
  }
  const cleared = decisions.flatMap(({ accountId, cleared }) => cleared.map((subject) => ({ accountId, subject })));
  if (cleared.length > 0) await transaction.query(deleteStates, fieldsOf(cleared, 'accountId', 'subject'));
}

async function writeDue(
  transaction: PartitionQueryable,
  decisions: readonly DecisionOf[],
  atMs: number,
): Promise<void> {
  const due = decisions.flatMap(({ accountId, notices }) => notices.map((notice) => ({ ...notice, accountId })));
  for (const { statement, parameters } of writeRows(insertDue, due, DUE.values, [new Date(atMs)])) {
    await transaction.query(statement, parameters);
  }
}

async function readFacts(
  transaction: PartitionQueryable,
  ids: string,
  thresholds: Thresholds,
  atMs: number,
): Promise<AccountFacts[]> {
  const balances = BALANCES.all(await transaction.query(selectBalances, [ids]));
  const active = SUBSCRIPTIONS.all(await transaction.query(selectSubscriptions, [ids, new Date(atMs)]));
  const subscriptions = Map.groupBy(active, ({ accountId }) => accountId);
  return balances.flatMap((balance) => {
    const lowBalanceNano = thresholds.get(balance.accountId);
    if (lowBalanceNano === undefined) return [];
    return [{ ...balance, lowBalanceNano, subscriptions: subscriptions.get(balance.accountId) ?? [] }];
  });
}
