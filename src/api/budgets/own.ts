import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import { shownBudget } from '../../notices/budget-decision.ts';
import type { UsedBudgets } from '../../notices/used-budgets.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { at, count, listOf, yuan } from '../management/response-fields.ts';
import { type CallerKeeperDependencies, callerBudget, callerBudgetChange, callerKeeper } from './caller-keeper.ts';

interface OwnBudgetDependencies extends CallerKeeperDependencies {
  readonly usedBudgets: UsedBudgets;
  readonly config: () => Config;
}

const usedBudget = z
  .strictObject({
    scope: z.enum(['key', 'member', 'endUser', 'tag']),
    ownerId: z.string().describe('The key or the user that the budget limits; for an end user or a tag, the scope.'),
    name: z.string().nullable().describe('null: the budget that further end users or tags of the day share.'),
    prefix: z.string().nullable().describe('Beginning of the key; otherwise null.'),
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

export function ownBudgetEndpoints(dependencies: OwnBudgetDependencies): AccountEndpoint[] {
  const { usedBudgets, periods, config } = dependencies;
  const keeper = callerKeeper(dependencies);
  return [
    accountEndpoint({
      method: 'GET',
      path: '/used-budgets',
      summary:
        'List the budgets that are nearly used, the most used first; members see those of themselves and their keys',
      needs: 'member',
      response: z.strictObject({ data: listOf(usedBudget) }),
      async run(_input, { scope: { accountId, ownUserId } }) {
        const { budgetPercents } = config().notices;
        const percentMin = budgetPercents.length === 0 ? PERCENT_DEFAULT : Math.min(...budgetPercents);
        const found = await usedBudgets.list(accountId, ownUserId, periods(), percentMin);
        return { data: found.map((budget) => ({ ...shownBudget(budget), percent: budget.percent })) };
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/caller-budgets',
      summary: 'List the budgets of end users and tags with their usage',
      needs: 'owner',
      response: z.strictObject({ data: listOf(callerBudget) }),
      run: async (_input, { scope: { accountId } }) => ({ data: await keeper.list(accountId) }),
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/caller-budgets',
      subject: {
        kind: 'account',
        named: (_input, { scope }) => scope.accountId,
        read: (accountId, { body }) => keeper.readNamed(accountId, body),
      },
      summary: 'Set the budget of an end user or a tag, or the default budget of all',
      needs: 'owner',
      body: callerBudgetChange,
      response: callerBudget,
      run: ({ body }, { scope: { accountId } }) => keeper.change(accountId, body),
    }),
  ];
}
