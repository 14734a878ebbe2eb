import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { type AccountGroup, missingGroup } from '../../providers/catalog/account-group.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { count, listOf, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { yuanOrNull } from '../management/wire.ts';

export interface GroupAdminDependencies {
  readonly accounts: Pick<AccountStore, 'countByGroup'>;
  readonly catalog: () => Catalog;
}

/** Maximum number of accounts that are counted per group, so that the list is fast. */
const COUNTED_MAX = 10_000;

const groupResponse = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    isConfigured: z
      .boolean()
      .describe('False if accounts are in the group but the configuration lacks it. These accounts may use no model.'),
    accounts: count,
    hasMoreAccounts: z
      .boolean()
      .describe('Whether the group has more accounts than `accounts` says: the number is counted only up to a limit.'),
    models: listOf(z.string()).nullable().describe('The models that its accounts may use; null: all.'),
    providers: listOf(z.string()).nullable().describe('The providers that serve its calls; null: all.'),
    priceFactorBasisPoints: count.describe('The price factor of accounts without one of their own.'),
    fallbacks: listOf(z.string()).describe(
      'The models that serve calls of its accounts if no route of the requested model does and it has no fallbacks of its own.',
    ),
    pricedModels: listOf(z.string()).describe('The models that have a price of their own in this group.'),
    requestsPerMinute: count.nullable(),
    tokensPerMinute: count.nullable(),
    dailySpendCapYuan: yuan.nullable(),
  })
  .meta({ id: 'Group' });
export type GroupResponse = z.infer<typeof groupResponse>;
const groupsResponse = z.strictObject({ data: listOf(groupResponse) });
export type GroupsResponse = z.infer<typeof groupsResponse>;

export function groupEndpoints({ accounts, catalog }: GroupAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/groups',
      summary: 'List the groups of accounts with the number of their accounts',
      response: groupsResponse,
      async run() {
        const { groups } = catalog();
        const counts = await accounts.countByGroup(COUNTED_MAX);
        const configured = new Set(groups.map(({ id }) => id));
        const others = [...counts.keys()].filter((id) => !configured.has(id)).map(missingGroup);
        return { data: [...groups, ...others].map((group) => groupToWire(group, counts.get(group.id) ?? 0)) };
      },
    }),
  ];
}

function groupToWire(group: AccountGroup, accounts: number): GroupResponse {
  const { models, providers, prices, limits, fallbacks } = group;
  return shown(groupResponse, {
    ...group,
    accounts,
    hasMoreAccounts: accounts >= COUNTED_MAX,
    models: models && [...models],
    providers: providers && [...providers],
    fallbacks: fallbacks?.models ?? [],
    pricedModels: [...prices.keys()],
    requestsPerMinute: limits === null ? null : limits.requestsMax,
    tokensPerMinute: limits === null ? null : limits.tokensMax,
    dailySpendCapYuan: yuanOrNull(limits === null ? null : limits.dailyCapNano),
  });
}
