import type { Dimension } from '../../accounting/usage/group-sums-store.ts';

/** The columns of usage in CSV. The command line writes it, too, and loads nothing else for that. */

/** The members that name a group, by its dimension. */
export const MEMBERS = {
  account: 'accountId',
  key: 'keyId',
  month: 'month',
  day: 'day',
  model: 'model',
  provider: 'provider',
  status: 'status',
  context: 'context',
} as const satisfies Readonly<Record<Dimension, string>>;

/** The amounts of a group. */
const AMOUNTS = [
  'chargeYuan',
  'refundYuan',
  'netChargeYuan',
  'planRevenueYuan',
  'costYuan',
  'planCostYuan',
  'marginYuan',
  'balanceMarginYuan',
  'planMarginYuan',
] as const;

/** The members of a row that CSV has as columns. `units`: those whose counts a row has. */
export function usageColumns(groupBy: readonly Dimension[], units: readonly string[]): string[] {
  const names = groupBy.flatMap((name) => {
    if (name === 'account') return [MEMBERS.account, 'accountName'];
    return name === 'key' ? [MEMBERS.key, 'keyName'] : [MEMBERS[name]];
  });
  return [...names, 'calls', ...AMOUNTS, 'callsWithoutCost', 'heldYuan', ...units.map((unit) => `usage.${unit}`)];
}
