import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { listOf } from '../management/response-fields.ts';
import { type CallerKeeperDependencies, callerBudget, callerBudgetChange, callerKeeper } from './caller-keeper.ts';

interface CallerBudgetDependencies extends CallerKeeperDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
}

export function callerBudgetEndpoints(dependencies: CallerBudgetDependencies): AdminEndpoint[] {
  const { accounts } = dependencies;
  const keeper = callerKeeper(dependencies);
  return [
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/caller-budgets',
      summary: 'List the budgets of end users and tags of an account with their usage',
      response: z.strictObject({ data: listOf(callerBudget) }),
      async run({ id }) {
        await requireAccount(accounts, id);
        return { data: await keeper.list(id) };
      },
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/accounts/:id/caller-budgets',
      subject: {
        kind: 'account',
        named: ({ id }) => id,
        read: (id, { body }) => keeper.readNamed(id, body),
      },
      summary: 'Set the budget of an end user or a tag, or the default budget of all',
      body: callerBudgetChange,
      response: callerBudget,
      async run({ id, body }) {
        await requireAccount(accounts, id);
        return keeper.change(id, body);
      },
    }),
  ];
}
