import type { GroupResponse, GroupsResponse } from '../../api/groups/admin.ts';
import { group } from '../command-rows.ts';
import { columnsOf, renderTable } from '../table.ts';

export const groupCommands = group('group', 'list groups of accounts', {
  list: {
    about: 'list the groups of the configuration, and how many accounts each has',
    async reads(admin, output) {
      const { data } = await admin.request<GroupsResponse>('GET', '/groups');
      output.print(data, () =>
        renderTable(data, 'The configuration has no groups.', [
          { title: 'id', cell: (row) => (row.isConfigured ? row.id : `${row.id} (not configured)`) },
          ...columnsOf<GroupResponse>('name'),
          { title: 'accounts', cell: (row) => `${row.accounts}${row.hasMoreAccounts ? ' or more' : ''}` },
          { title: 'factor', cell: (row) => `${row.priceFactorBasisPoints / 100}%` },
          { title: 'own prices', cell: (row) => row.pricedModels.join(', ') || '-' },
          { title: 'models', cell: (row) => row.models?.join(', ') ?? 'all' },
          { title: 'providers', cell: (row) => row.providers?.join(', ') ?? 'all' },
          { title: 'fallbacks', cell: (row) => row.fallbacks.join(', ') || '-' },
          { title: 'limits', cell: describeLimits },
        ]),
      );
    },
  },
});

function describeLimits({ requestsPerMinute, tokensPerMinute, dailySpendCapYuan }: GroupResponse): string {
  const limits = [
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests a minute`]),
    ...(tokensPerMinute === null ? [] : [`${tokensPerMinute} tokens a minute`]),
    ...(dailySpendCapYuan === null ? [] : [`¥${dailySpendCapYuan} a day`]),
  ];
  return limits.join(', ') || 'as configured';
}
