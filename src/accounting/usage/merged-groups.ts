import { byUnit } from '../../protocols/metering/usage-units.ts';
import type { GroupSums } from './group-sums-store.ts';

/**
 * One page of the pages that partitions have of the same groups: each sorted, with all groups behind the same place, or the first `limit`
 * of them. The sums of a group are added up. The page is exact: a partition that has stopped has returned `limit` groups, so what it has
 * left out comes behind as many.
 */
export function mergeGroups(pages: readonly (readonly GroupSums[])[], limit: number): readonly GroupSums[] {
  const [only] = pages;
  if (pages.length === 1 && only !== undefined) return only;
  const merged = new Map<string, GroupSums>();
  for (const row of pages.flat()) {
    const name = JSON.stringify(row.group);
    const before = merged.get(name);
    merged.set(name, before === undefined ? row : added(before, row));
  }
  return [...merged.values()].sort((left, right) => compareGroups(left.group, right.group)).slice(0, limit);
}

/** As the statements sort them: value by value, by the bytes of each. */
export function compareGroups(left: readonly string[], right: readonly string[]): number {
  for (const [i, value] of left.entries()) {
    if (value !== right[i]) return Buffer.compare(Buffer.from(value), Buffer.from(right[i]!));
  }
  return 0;
}

function added(left: GroupSums, right: GroupSums): GroupSums {
  return {
    group: left.group,
    calls: left.calls + right.calls,
    chargeNano: left.chargeNano + right.chargeNano,
    refundNano: left.refundNano + right.refundNano,
    costNano: left.costNano + right.costNano,
    uncostedCalls: left.uncostedCalls + right.uncostedCalls,
    reservedNano: left.reservedNano + right.reservedNano,
    planCalls: left.planCalls + right.planCalls,
    planCostNano: left.planCostNano + right.planCostNano,
    planUncostedCalls: left.planUncostedCalls + right.planUncostedCalls,
    planRevenueNano: left.planRevenueNano + right.planRevenueNano,
    images: left.images + right.images,
    units: byUnit((unit) => left.units[unit] + right.units[unit]),
  };
}
