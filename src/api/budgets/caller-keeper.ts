import { z } from 'zod';
import { CALLER_KINDS, type CallerBudgetName, callerOfBudget } from '../../accounting/accounts/caller-budget-ids.ts';
import {
  CALLER_BUDGETS_MAX,
  type CallerBudgetRow,
  type CallerBudgetStore,
  TooManyCallerBudgetsError,
} from '../../accounting/accounts/caller-budget-store.ts';
import { hasBudget, type ModelBudget } from '../../accounting/accounts/key-limit-tables.ts';
import { NO_BUDGET } from '../../accounting/accounts/model-budget-store.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import { usedNow } from '../../accounting/reservations/limits/key-day.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { isTag } from '../../http/call-tags.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { recordedEndUser } from '../../protocols/operations/end-user.ts';
import { limitsIn, membersOf, rowsToWire, SPEND_CAPS, usedSpend } from '../keys/limit-rows.ts';
import { notFound } from '../management/endpoint.ts';

/** Budgets of end users and tags, for both APIs. */

export interface CallerKeeperDependencies {
  readonly callerBudgets: CallerBudgetStore;
  readonly periods: () => RunningPeriods;
}

/** Without a total: rows of values that are no longer used are deleted. */
const { totalSpendCapNano: _total, ...CAPS } = SPEND_CAPS;
const { totalSpendYuan: _spent, ...used } = usedSpend;

const kind = z.enum(CALLER_KINDS);

export const callerBudget = z
  .strictObject({
    kind,
    value: z
      .string()
      .nullable()
      .describe('The end user or the tag; null: the default budget, which each one without a budget of its own has.'),
    isOwn: z.boolean().describe('Whether the budget was set; if not, it is the default budget.'),
    ...membersOf(CAPS, 'shown'),
    used: z
      .strictObject(used)
      .describe('The usage of the value. For the default budget, that of all values which share it for the day.'),
  })
  .meta({ id: 'CallerBudget' });
export type CallerBudget = z.infer<typeof callerBudget>;

/** `null` removes a cap; an absent one stays unchanged. */
export const callerBudgetChange = z
  .strictObject({
    kind,
    value: z.string({ error: 'Expected text.' }).nullable().default(null),
    ...membersOf(CAPS, 'asked'),
  })
  .refine(({ kind, value }) => value === null || (kind === 'tag' ? isTag(value) : recordedEndUser(value) !== null), {
    path: ['value'],
    error:
      'No call can have this value. A tag has 1 to 64 letters, digits and characters of "_.:/@+-"; an end user has 1 to 128 characters.',
  });
export type CallerBudgetChange = z.infer<typeof callerBudgetChange>;

export function callerKeeper({ callerBudgets, periods }: CallerKeeperDependencies) {
  function toWire({ row, isSet }: CallerBudgetRow, caps: ModelBudget): CallerBudget {
    const { spentNano, weekSpentNano, monthSpentNano } = usedNow(row, periods());
    return {
      ...callerOfBudget(row.keyId)!,
      isOwn: isSet,
      ...rowsToWire(CAPS, caps),
      used: {
        dailySpendYuan: formatYuan(spentNano),
        weeklySpendYuan: formatYuan(weekSpentNano),
        monthlySpendYuan: formatYuan(monthSpentNano),
      },
    };
  }

  /** Returns a budget as it was set, without the default budget that may apply instead. */
  async function read(accountId: string, name: CallerBudgetName): Promise<CallerBudget> {
    const stored = await callerBudgets.find(accountId, name);
    if (stored !== null) return toWire(stored, stored.row);
    const unused = { dailySpendYuan: '0', weeklySpendYuan: '0', monthlySpendYuan: '0' };
    return { ...name, isOwn: false, ...rowsToWire(CAPS, NO_BUDGET), used: unused };
  }

  return {
    /** Returns a budget as it was set, under its name, for the audit log. */
    async readNamed(accountId: string, { kind, value }: CallerBudgetName): Promise<object> {
      const {
        kind: _kind,
        value: _value,
        isOwn: _isOwn,
        used: _used,
        ...caps
      } = await read(accountId, { kind, value });
      return value === null ? { defaultBudgets: { [kind]: caps } } : { callerBudgets: { [kind]: { [value]: caps } } };
    },

    /** Lists the default budgets, then the others that are set, then the values that have spent most under a default budget. */
    async list(accountId: string): Promise<CallerBudget[]> {
      const rows = await callerBudgets.list(accountId, periods().monthBeganAtMs);
      const named = rows.map((each) => ({ ...each, name: callerOfBudget(each.row.keyId)! }));
      const usual = new Map(named.filter(({ name }) => name.value === null).map(({ row, name }) => [name.kind, row]));
      const rank = ({ isSet, name }: (typeof named)[number]): number => (name.value === null ? 0 : isSet ? 1 : 2);
      return named
        .toSorted((one, other) => rank(one) - rank(other))
        .flatMap((each) => {
          const caps = each.isSet ? each.row : usual.get(each.name.kind);
          return caps === undefined || !hasBudget(caps) ? [] : [toWire(each, caps)];
        });
    },

    async change(accountId: string, { kind, value, ...caps }: CallerBudgetChange): Promise<CallerBudget> {
      const name = { kind, value };
      try {
        if (!(await callerBudgets.change(accountId, name, limitsIn(CAPS, caps)))) throw notFound('account', accountId);
      } catch (error) {
        if (!(error instanceof TooManyCallerBudgetsError)) throw error;
        throw invalidRequest(`value: At most ${CALLER_BUDGETS_MAX} values may have budgets of their own.`, 'value');
      }
      return read(accountId, name);
    },
  };
}
