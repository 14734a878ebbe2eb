import type { Dimension } from '../../accounting/usage/group-sums-store.ts';

/** This file has the columns of usage as CSV. It imports nothing else, so that the command line loads it quickly. */

/** Members of a row that identify its group, by what usage is grouped by. */
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
  endUser: 'endUser',
  program: 'program',
  tag: 'tag',
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

/** Returns the columns. `units`: those that have counts. */
export function usageColumns(groupBy: readonly Dimension[], units: readonly string[]): string[] {
  const names = groupBy.flatMap((name) => {
    if (name === 'account') return [MEMBERS.account, 'accountName'];
    return name === 'key' ? [MEMBERS.key, 'keyName'] : [MEMBERS[name]];
  });
  return [...names, 'calls', ...AMOUNTS, 'callsWithoutCost', 'heldYuan', ...units.map((unit) => `usage.${unit}`)];
}
