import { addYuan } from '../text/yuan.ts';
import type { UsageGroup } from './usage-charts.tsx';

/** The sum of groups of the same name. */
export interface UsageSum {
  readonly name: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly netChargeYuan: string;
}

/** Sums up groups by name, the dearest first, and all of them at the end, as `totalName`. Amounts are added exactly. */
export function sumGroups<Group extends UsageGroup>(
  groups: readonly Group[],
  nameOf: (group: Group) => string,
  totalName: string,
): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  let total: UsageSum = emptySum(totalName);
  for (const group of groups) {
    const name = nameOf(group);
    sums.set(name, added(sums.get(name) ?? emptySum(name), group));
    total = added(total, group);
  }
  const sorted = [...sums.values()].sort(
    (a, b) => Number(b.netChargeYuan) - Number(a.netChargeYuan) || b.calls - a.calls,
  );
  return sorted.length > 1 ? [...sorted, total] : sorted;
}

function emptySum(name: string): UsageSum {
  return { name, calls: 0, inputTokens: 0, outputTokens: 0, netChargeYuan: '0' };
}

function added(sum: UsageSum, { calls, usage, netChargeYuan }: UsageGroup): UsageSum {
  const count = (kind: RegExp): number =>
    Object.entries(usage).reduce((all, [unit, each]) => (kind.test(unit) ? all + each : all), 0);
  return {
    name: sum.name,
    calls: sum.calls + calls,
    inputTokens: sum.inputTokens + count(/^(?:input|cachedInput|cacheWrite\w*|imageInput|audioInput)Tokens$/),
    outputTokens: sum.outputTokens + count(/^(?:output|imageOutput|audioOutput)Tokens$/),
    netChargeYuan: addYuan(sum.netChargeYuan, netChargeYuan),
  };
}
