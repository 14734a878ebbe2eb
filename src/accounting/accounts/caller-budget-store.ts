import type { Statement, StoredRow } from '../../db/database.ts';
import { isLockTimeout } from '../../db/errors.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { booleanColumn, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { queueAccountChange } from '../ledger/changed-account-store.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';
import { CALLER_KINDS_SQL, type CallerBudgetName, callerBudgetId, isOfCaller } from './caller-budget-ids.ts';
import {
  hasBudget,
  KEY_LIMITS,
  type KeyCounts,
  type KeyTerms,
  MODEL_BUDGET,
  type ModelBudget,
} from './key-limit-tables.ts';
import { announceChange } from './principal-change-store.ts';

/** This file stores the budgets of end users and tags (`caller-budget-ids.ts`). `accounting/reservations/` counts their use. */

/** Maximum number of values of an account that have a budget of their own. */
export const CALLER_BUDGETS_MAX = 200;
/** Number of values under a default budget that a list shows. */
const LISTED_VALUES_MAX = 200;

export type CallerBudgetChange = { readonly [Cap in keyof ModelBudget]?: ModelBudget[Cap] | undefined };

/** A row, with whether the account has set its budget. Other rows only count the use of a default budget. */
export interface CallerBudgetRow {
  readonly row: KeyTerms & KeyCounts;
  readonly isSet: boolean;
}

const COUNTED = selection({ isSet: booleanColumn('owner_id is not null as is_set') });
const CAPS = MODEL_BUDGET.names;

/** Selects the budgets that are set, and the values that have used most of a default budget in this month. Uses the primary key. */
const selectRows: Statement = {
  name: 'caller-budgets.select',
  text: `select ${KEY_LIMITS.columns.list}, ${COUNTED.list} from key_limits
where account_id = $1 and ${isOfCaller('key_id')}
  and (owner_id is not null or (month_began_at >= $2::timestamptz and position(' ' in key_id) > 0))
order by owner_id is null, month_spent_nano desc, key_id limit ${CALLER_BUDGETS_MAX + LISTED_VALUES_MAX + 2}`,
};

const selectRow: Statement = {
  name: 'caller-budgets.select-one',
  text: `select ${KEY_LIMITS.columns.list}, ${COUNTED.list} from key_limits where account_id = $1 and key_id = $2`,
};

/** Sets or removes a budget. The row stays, because charges and reservations refer to its counts. */
const writeBudget: Statement = {
  name: 'caller-budgets.write',
  text: `insert into key_limits (account_id, key_id, owner_id, ${CAPS.join(', ')})
values ($1, $2, $3::text, ${MODEL_BUDGET.parameters(4)})
on conflict (account_id, key_id) do update set owner_id = excluded.owner_id,
  ${CAPS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
};

/** Counts the values with budgets of their own. Uses key_limits_by_owner. */
const countBudgets: Statement = {
  name: 'caller-budgets.count',
  text: `select count(*)::int as budgets from key_limits
where account_id = $1 and owner_id in (${CALLER_KINDS_SQL}) and key_id <> owner_id`,
};

/** SQL: whether a row is without a budget and use since $1. Then all its periods are over. */
const IS_UNUSED = `owner_id is null and reserved_nano = 0 and day_began_at < $1::timestamptz and ${isOfCaller('key_id')}`;

/** Selects accounts with unused rows. Scans key_limits. */
const selectUnused: Statement = {
  name: 'caller-budgets.select-unused',
  text: `select distinct account_id from key_limits where ${IS_UNUSED}`,
};

/** Deletes unused rows and the notified levels of their budgets. Uses primary keys. */
const deleteUnused: Statement = {
  name: 'caller-budgets.delete-unused',
  text: `with unused as materialized (
  delete from key_limits where account_id = $2 and ${IS_UNUSED} returning key_id
)
delete from notice_states where account_id = $2 and subject in (
  select 'budget ' || $2 || ' ' || split_part(u.key_id, ' ', 1) || ' ' || p.period || substr(u.key_id, strpos(u.key_id || ' ', ' '))
  from unused u cross join unnest(array['day', 'week', 'month']) as p (period)
)`,
};

const ACCOUNTS = selection({ accountId: textColumn('account_id') });

export class TooManyCallerBudgetsError extends Error {}

export type CallerBudgetStore = ReturnType<typeof createCallerBudgetStore>;

export function createCallerBudgetStore(database: PartitionPool) {
  const toRow = (row: StoredRow): CallerBudgetRow => ({ row: KEY_LIMITS.columns.read(row), ...COUNTED.read(row) });
  return {
    /**
     * Sets the budget of a value or the default budget; `null` removes a cap, an absent one stays unchanged.
     * @returns false if the account does not exist
     * @throws TooManyCallerBudgetsError
     */
    change: (accountId: string, name: CallerBudgetName, change: CallerBudgetChange): Promise<boolean> =>
      database.transaction(async (transaction) => {
        if (!(await lockAccount(transaction, accountId))) return false;
        const id = callerBudgetId(name);
        const [stored] = await transaction.query<StoredRow>(selectRow, [accountId, id]);
        const before = stored === undefined ? NO_CAPS : MODEL_BUDGET.read(stored);
        const given = Object.fromEntries(Object.entries(change).filter(([, cap]) => cap !== undefined));
        const caps = { ...before, ...given };
        if (stored === undefined && !hasBudget(caps)) return true;
        const ownerId = hasBudget(caps) ? name.kind : null;
        await transaction.query(writeBudget, [accountId, id, ownerId, ...MODEL_BUDGET.valuesOf(caps)]);
        const [counted] = await transaction.query<{ budgets: number }>(countBudgets, [accountId]);
        if (counted!.budgets > CALLER_BUDGETS_MAX) throw new TooManyCallerBudgetsError();
        await queueAccountChange(transaction, accountId);
        await announceChange(transaction, accountId);
        return true;
      }),
    /** Lists the budgets that are set, and the values under a default budget that have spent most since the month began. */
    async list(accountId: string, monthBeganAtMs: number): Promise<CallerBudgetRow[]> {
      return (await database.query<StoredRow>(selectRows, [accountId, new Date(monthBeganAtMs)])).map(toRow);
    },
    async find(accountId: string, name: CallerBudgetName): Promise<CallerBudgetRow | null> {
      const [row] = await database.query<StoredRow>(selectRow, [accountId, callerBudgetId(name)]);
      return row === undefined ? null : toRow(row);
    },
  };
}

export const routedCallerBudgets = (routes: Routes<CallerBudgetStore>): CallerBudgetStore =>
  routedByAccount(routes, { change: itself, list: itself, find: itself });

const NO_CAPS: ModelBudget = {
  dailySpendCapNano: null,
  weeklySpendCapNano: null,
  monthlySpendCapNano: null,
  totalSpendCapNano: null,
};

/** For this time after the last use, a row without a budget stays. It is longer than a month, so all periods of the row are over. */
export const UNUSED_ROWS_KEPT_DAYS = 35;

export type UnusedCallerRows = ReturnType<typeof createUnusedCallerRows>;

export const createUnusedCallerRows = (database: PartitionPool) => ({
  /** Deletes rows of callers, one account at a time, under the account's lock. Returns false if a lock timed out. */
  async deleteBefore(epochMs: number, signal: AbortSignal): Promise<boolean> {
    const before = new Date(epochMs);
    let isAll = true;
    for (const { accountId } of ACCOUNTS.all(await database.query(selectUnused, [before]))) {
      if (signal.aborted) return isAll;
      try {
        await database.transaction(async (transaction) => {
          await lockAccount(transaction, accountId);
          await transaction.query(deleteUnused, [before, accountId]);
        });
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        isAll = false;
      }
    }
    return isAll;
  },
});
