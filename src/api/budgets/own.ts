import { z } from 'zod';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { Config } from '../../config/schema.ts';
import { shownBudget } from '../../notices/budget-decision.ts';
import type { UsedBudgets } from '../../notices/used-budgets.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { at, count, listOf, yuan } from '../management/response-fields.ts';

interface OwnBudgetDependencies {
  readonly usedBudgets: UsedBudgets;
  readonly periods: () => RunningPeriods;
  readonly config: () => Config;
}

const usedBudget = z
  .strictObject({
    scope: z.enum(['key', 'member']),
    ownerId: z.string().describe('The key or the user that the budget limits.'),
    name: z.string(),
    prefix: z.string().nullable().describe('Beginning of the key; null for a member.'),
    model: z.string().nullable().describe('The model that the budget is for; null: all models together.'),
    period: z.enum(['day', 'week', 'month', 'total']),
    usedYuan: yuan,
    limitYuan: yuan,
    percent: count,
    resetsAt: at.nullable().describe('When a new period begins; null: never.'),
  })
  .meta({ id: 'UsedBudget' });

/** Lowest percentage that is listed if no notices are sent. */
const PERCENT_DEFAULT = 80;

export function ownBudgetEndpoints({ usedBudgets, periods, config }: OwnBudgetDependencies): AccountEndpoint[] {
  return [
    accountEndpoint({
      method: 'GET',
      path: '/used-budgets',
      summary: 'List the budgets of keys and members that are nearly used, the most used first; members see their own',
      needs: 'member',
      response: z.strictObject({ data: listOf(usedBudget) }),
      async run(_input, { scope: { accountId, ownUserId } }) {
        const { budgetPercents } = config().notices;
        const percentMin = budgetPercents.length === 0 ? PERCENT_DEFAULT : Math.min(...budgetPercents);
        const found = await usedBudgets.list(accountId, ownUserId, periods(), percentMin);
        return { data: found.map((budget) => ({ ...shownBudget(budget), percent: budget.percent })) };
      },
    }),
  ];
}
