import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { CALLER_KINDS_SQL } from '../accounts/caller-budget-ids.ts';
import { KEY_LIMITS, MODEL_BUDGET } from '../accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { type UsedBudget, usedBudgets } from './limits/used-budgets.ts';

/** SQL: what a period has used at least. The current day counts in its week and month (`limits/key-day.ts`). */
const OF_DAY = 'case when l.day_began_at >= $3::timestamptz then l.spent_nano end';
const OF_WEEK = `greatest(case when l.week_began_at >= $4::timestamptz then l.week_spent_nano end, ${OF_DAY})`;
const OF_MONTH = `greatest(case when l.month_began_at >= $5::timestamptz then l.month_spent_nano end, ${OF_DAY})`;

/** SQL: the cap in force: the row's own, or that of the default budget of its end user or tag. */
const capOf = (cap: string): string => `coalesce(l.${cap}, d.${cap})`;

const COLUMNS = KEY_LIMITS.columns.columns
  .map((column) =>
    MODEL_BUDGET.names.includes(column.name) ? `${capOf(column.name)} as ${column.name}` : column.select('l.'),
  )
  .join(', ');

/** Maximum number of rows of an account under default budgets. Callers choose how many there are. */
const DEFAULTED_MAX = 100;

/** SQL: whether a budget might be used to $2 percent. The division comes first, so that no amount overflows. */
const reaches = (spent: string, cap: string): string =>
  `(${capOf(cap)} > 0 and ${spent} >= ${capOf(cap)} / 100 * $2::bigint)`;

/**
 * Selects rows with a budget that might be used to a share. Uses the primary key of key_limits, whose rows of an account are read in full:
 * an index over amounts would have to be written with every call.
 */
const selectUsed: Statement = {
  name: 'used-budgets.select',
  text: `select * from (
  select ${COLUMNS}, d.key_id is not null as is_defaulted,
    row_number() over (partition by l.account_id, d.key_id is not null order by l.key_id) as place
  from key_limits l
  left join key_limits d on d.account_id = l.account_id and l.owner_id is null and d.key_id in (${CALLER_KINDS_SQL})
    and d.key_id = split_part(l.key_id, ' ', 1) and d.key_id <> l.key_id
  where l.account_id = any ($1::text[]) and (${[
    reaches(OF_DAY, 'daily_spend_cap_nano'),
    reaches(OF_WEEK, 'weekly_spend_cap_nano'),
    reaches(OF_MONTH, 'monthly_spend_cap_nano'),
    reaches('l.total_spent_nano', 'total_spend_cap_nano'),
  ].join('\n    or ')})
) used
where not is_defaulted or place <= ${DEFAULTED_MAX}
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
