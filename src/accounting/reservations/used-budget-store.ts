import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { type UsedBudget, usedBudgets } from './limits/used-budgets.ts';

/** SQL: what a period has used at least. The current day counts in its week and month (`limits/key-day.ts`). */
const OF_DAY = 'case when day_began_at >= $3::timestamptz then spent_nano end';
const OF_WEEK = `greatest(case when week_began_at >= $4::timestamptz then week_spent_nano end, ${OF_DAY})`;
const OF_MONTH = `greatest(case when month_began_at >= $5::timestamptz then month_spent_nano end, ${OF_DAY})`;

/** SQL: whether a budget might be used to $2 percent. The division comes first, so that no amount overflows. */
const reaches = (spent: string, cap: string): string => `(${cap} > 0 and ${spent} >= ${cap} / 100 * $2::bigint)`;

/**
 * Selects rows with a budget that might be used to a share. Uses the primary key of key_limits, whose rows of an account are read in full:
 * an index over amounts would have to be written with every call.
 */
const selectUsed: Statement = {
  name: 'used-budgets.select',
  text: `select ${KEY_LIMITS.columns.of('l')} from key_limits l
where account_id = any ($1::text[]) and (${[
    reaches(OF_DAY, 'daily_spend_cap_nano'),
    reaches(OF_WEEK, 'weekly_spend_cap_nano'),
    reaches(OF_MONTH, 'monthly_spend_cap_nano'),
    reaches('total_spent_nano', 'total_spend_cap_nano'),
  ].join('\n  or ')})
order by account_id, key_id`,
};

/** Reads the budgets of accounts of which at least a share is used, 1 to 100 percent. */
export async function readUsedBudgets(
  partition: PartitionQueryable,
  accountIds: readonly string[],
  periods: RunningPeriods,
  percentMin: number,
): Promise<UsedBudget[]> {
  const { dayBeganAtMs, weekBeganAtMs, monthBeganAtMs } = periods;
  const began = [dayBeganAtMs, weekBeganAtMs, monthBeganAtMs].map((ms) => new Date(ms));
  const rows = KEY_LIMITS.columns.all(await partition.query(selectUsed, [toArray(accountIds), percentMin, ...began]));
  return rows.flatMap((row) => usedBudgets(row, periods, percentMin));
}
