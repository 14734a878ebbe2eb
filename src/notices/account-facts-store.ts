import { readUsedBudgets } from '../accounting/reservations/used-budget-store.ts';
import { fieldsOf } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { PartitionQueryable, TransactionOverBoth } from '../db/home-pools.ts';
import { bigintColumn, countColumn, instantColumn, orNull, selection, textColumn } from '../db/table.ts';
import { type AccountFacts, type AccountTerms, WINDOW_MS } from './account-facts.ts';
import { readBudgetOwners } from './budget-owner-store.ts';
import { readThresholds } from './threshold-store.ts';

/** This file reads what decides on notices about accounts. */

const BALANCES = selection({
  accountId: textColumn('account_id'),
  balanceNano: bigintColumn('balance_nano'),
  lastEntryNo: bigintColumn('last_entry_no'),
  day: selection({
    dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
    ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
    dayBeganAtMs: instantColumn('day_began_at'),
    spentNano: bigintColumn('spent_nano'),
  }),
});

/** Uses the primary key of balances. */
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
  /** Calls of the five-hour window, including some that are no longer in it. */
  slots: countColumn('slots'),
});

/** Uses the primary key of subscriptions. */
const selectSubscriptions: Statement = {
  name: 'notices.select-subscriptions',
  text: `select ${SUBSCRIPTIONS.list}
from subscriptions where account_id = any ($1::text[]) and canceled_at is null and starts_at <= $2 and ends_at > $2`,
};

const WINDOWS = selection({
  id: textColumn('id'),
  calls: countColumn('calls'),
  oldestAtMs: orNull(instantColumn('oldest_at')),
});

/** Counts the calls of windows. Uses plan_slots_by_time. */
const countWindows: Statement = {
  name: 'notices.count-windows',
  text: `select s.id, slot.calls, slot.oldest_at
from unnest($1::text[], $2::text[]) as s (account_id, id) cross join lateral (
  select count(*) as calls, min(taken_at) as oldest_at from plan_slots p
  where p.account_id = s.account_id and p.subscription_id = s.id and p.taken_at > $3::timestamptz
) slot`,
};

const EMPTY_WINDOW = { calls: 0, oldestAtMs: null };

/** Reads the facts about accounts. Thresholds are read after the queue: setting one queues the account again. */
export async function readFacts(
  transaction: TransactionOverBoth,
  ids: readonly string[],
  terms: AccountTerms,
): Promise<AccountFacts[]> {
  const thresholds = await readThresholds(transaction, ids);
  const balances = BALANCES.all(await transaction.query(selectBalances, [toArray(ids)]));
  const subscriptions = Map.groupBy(await readSubscriptions(transaction, ids, terms), ({ accountId }) => accountId);
  const budgets = Map.groupBy(await readBudgets(transaction, ids, terms), ({ accountId }) => accountId);
  return balances.flatMap((balance) => {
    const account = thresholds.get(balance.accountId);
    if (account === undefined) return [];
    const { lowBalanceNano, groupId } = account;
    return [
      {
        ...balance,
        lowBalanceNano,
        groupId,
        subscriptions: subscriptions.get(balance.accountId) ?? [],
        budgets: budgets.get(balance.accountId) ?? [],
      },
    ];
  });
}

/** Reads active subscriptions. Only windows that may be nearly used are counted. */
async function readSubscriptions(
  partition: PartitionQueryable,
  ids: readonly string[],
  { nowMs, plans, planPercents }: AccountTerms,
) {
  const active = SUBSCRIPTIONS.all(await partition.query(selectSubscriptions, [toArray(ids), new Date(nowMs)]));
  const percentMin = planPercents[0] ?? Number.POSITIVE_INFINITY;
  const full = active.filter(({ planId, slots }) => {
    const max = plans.get(planId)?.fiveHourCalls ?? 0;
    return max > 0 && slots * 100 >= max * percentMin;
  });
  const values = [...fieldsOf(full, 'accountId', 'id'), new Date(nowMs - WINDOW_MS)];
  const counted = full.length === 0 ? [] : WINDOWS.all(await partition.query(countWindows, values));
  const windows = new Map(counted.map(({ id, ...window }) => [id, window]));
  return active.map((subscription) => ({ ...subscription, window: windows.get(subscription.id) ?? EMPTY_WINDOW }));
}

/** Reads budgets that may cause a notice, with the keys and members that they limit. */
export async function readBudgets(
  transaction: TransactionOverBoth,
  ids: readonly string[],
  { periods, budgetPercents }: Pick<AccountTerms, 'periods' | 'budgetPercents'>,
) {
  const [percentMin] = budgetPercents;
  if (percentMin === undefined) return [];
  const used = await readUsedBudgets(transaction, ids, periods, percentMin);
  const ownerOf = await readBudgetOwners(transaction, used, periods.nowMs);
  return used.flatMap((budget) => {
    const owner = ownerOf(budget);
    return owner === null ? [] : [{ ...budget, owner }];
  });
}
