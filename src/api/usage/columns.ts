import type { Dimension } from '../../accounting/usage/group-sums-store.ts';

/** Columns of usage CSV. This file has no further imports, so that the command line can load it quickly. */

/** The member of a row that identifies its group. */
export const MEMBERS = {
  account: 'accountId',
  key: 'keyId',
  group: 'groupId',
  month: 'month',
  day: 'day',
  model: 'model',
  provider: 'provider',
  status: 'status',
  context: 'context',
} as const satisfies Readonly<Record<Dimension, string>>;

const AMOUNTS = [
  'chargeYuan',
  'refundYuan',
  'netChargeYuan',
  'planRevenueYuan',
  'costYuan',
  'planCostYuan',
  'marginYuan',
  'marginBasisPoints',
  'balanceMarginYuan',
  'balanceMarginBasisPoints',
  'planMarginYuan',
  'planMarginBasisPoints',
  'costedNetChargeYuan',
  'costedMarginYuan',
  'costedMarginBasisPoints',
] as const;

/** `units`: the units with counts. */
export function usageColumns(groupBy: readonly Dimension[], units: readonly string[]): string[] {
  const names = groupBy.flatMap((name) => {
    if (name === 'account') return [MEMBERS.account, 'accountName'];
    return name === 'key' ? [MEMBERS.key, 'keyName'] : [MEMBERS[name]];
  });
  return [...names, 'calls', ...AMOUNTS, 'callsWithoutCost', 'heldYuan', ...units.map((unit) => `usage.${unit}`)];
}
