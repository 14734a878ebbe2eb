import { fieldsOf } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { PartitionPool, PartitionQueryable } from '../db/home-pools.ts';
import { countColumn, tableColumns, textColumn } from '../db/table.ts';
import { decideAccount } from './account-decision.ts';
import type { AccountTerms } from './account-facts.ts';
import { readFacts } from './account-facts-store.ts';
import { type BatchResult, tryFinderLock } from './finder-lock-store.ts';
import type { AccountDecision } from './notice-states.ts';
import { addNotices, type NewNotices } from './notice-store.ts';

/**
 * This file takes changed accounts from the queue, reads their thresholds from the directory, and writes notice states, notices and
 * deliveries, all in one transaction.
 */

/**
 * Maximum number of queue rows in a batch. A row has the accounts of one or several batches of calls. Large batches are cheaper: each one
 * scans past the dead rows of earlier ones.
 */
const CHANGES_ROWS = 500;
const CHANGES_ACCOUNTS = 1_000;

/** Finds out whether the queue is empty, which then needs no transaction. */
const findChanges: Statement = { name: 'notices.find-changes', text: 'select from account_changes limit 1' };

const takeChanges: Statement = {
  name: 'notices.take-changes',
  text: `delete from account_changes where ctid = any (array(
  select place from (
    select place, sum(cardinality(account_ids)) over (rows between unbounded preceding and 1 preceding) as accounts_before
    from (select ctid as place, account_ids from account_changes limit ${CHANGES_ROWS}) first_ones
  ) counted
  where coalesce(accounts_before, 0) < ${CHANGES_ACCOUNTS}
)) returning account_ids`,
};

const STATES = tableColumns({
  accountId: textColumn('account_id'),
  subject: textColumn('subject'),
  occurrence: textColumn('occurrence'),
  level: countColumn('level'),
});

const selectStates: Statement = {
  name: 'notices.select-states',
  text: `select ${STATES.list} from notice_states where account_id = any ($1::text[])`,
};

const upsertStates: Statement = {
  name: 'notices.upsert-states',
  text: `insert into notice_states (${STATES.list})
select * from ${STATES.rows.as('v')}
on conflict (account_id, subject) do update set occurrence = excluded.occurrence, level = excluded.level`,
};

const deleteStates: Statement = {
  name: 'notices.delete-states',
  text: `delete from notice_states s using unnest($1::text[], $2::text[]) as v (account_id, subject)
where s.account_id = v.account_id and s.subject = v.subject`,
};

export type AccountNoticeStore = ReturnType<typeof createAccountNoticeStore>;

export function createAccountNoticeStore(partition: PartitionPool, number = 0) {
  return {
    /** Stores decisions about queued accounts. Only one node can do this at a time. */
    async noticeChanges(terms: AccountTerms, options: NewNotices): Promise<BatchResult> {
      if ((await partition.query(findChanges)).length === 0) return 'idle';
      return partition.transactionWithDirectory(async (transaction) => {
        if (!(await tryFinderLock(transaction, number))) return 'elsewhere';
        const taken = await transaction.query<{ account_ids: string[] }>(takeChanges);
        const ids = [...new Set(taken.flatMap((row) => row.account_ids))];
        const facts = await readFacts(transaction, ids, terms);
        const known = STATES.all(await transaction.query(selectStates, [toArray(ids)]));
        const states = Map.groupBy(known, ({ accountId }) => accountId);
        const decisions = facts.map((each) => ({
          accountId: each.accountId,
          ...decideAccount(each, new Map(states.get(each.accountId)?.map((state) => [state.subject, state])), terms),
        }));
        await writeStates(transaction, decisions);
        // This comes last, because it locks receivers, for which finders of other partitions may wait.
        await addNotices(
          transaction,
          decisions.flatMap(({ notices }) => notices),
          options,
        );
        return 'more';
      });
    },
  };
}

type DecisionOf = AccountDecision & { readonly accountId: string };

async function writeStates(transaction: PartitionQueryable, decisions: readonly DecisionOf[]): Promise<void> {
  const states = decisions.flatMap((each) => each.states);
  for (const { statement, parameters } of STATES.rows.write(upsertStates, states)) {
    await transaction.query(statement, parameters);
  }
  const cleared = decisions.flatMap(({ accountId, cleared }) => cleared.map((subject) => ({ accountId, subject })));
  if (cleared.length > 0) await transaction.query(deleteStates, fieldsOf(cleared, 'accountId', 'subject'));
}
