import { addYuan, compareYuan } from '../../text/yuan.ts';
import type { UsageGroup } from './usage-group.ts';
import type { PartOf } from './usage-parts.ts';

/** The sum of a part's groups, or of all groups if `id` is `null`. */
export interface UsageSum {
  readonly id: string | null;
  readonly name: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly netChargeYuan: string;
}

/** Sums groups by part, highest charge first, then the total as `totalName`. Amounts are exact. */
export function sumGroups<Group extends UsageGroup>(
  groups: readonly Group[],
  partOf: PartOf<Group>,
  totalName: string,
): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  let total: UsageSum = emptySum(null, totalName);
  for (const group of groups) {
    const { id, name } = partOf(group);
    sums.set(id, added(sums.get(id) ?? emptySum(id, name), group));
    total = added(total, group);
  }
  const sorted = [...sums.values()].sort((a, b) => compareYuan(b.netChargeYuan, a.netChargeYuan) || b.calls - a.calls);
  return sorted.length > 1 ? [...sorted, total] : sorted;
}

function emptySum(id: string | null, name: string): UsageSum {
  return { id, name, calls: 0, inputTokens: 0, outputTokens: 0, netChargeYuan: '0' };
}

function added(sum: UsageSum, { calls, usage, netChargeYuan }: UsageGroup): UsageSum {
  return {
    ...sum,
    calls: sum.calls + calls,
    inputTokens: sum.inputTokens + inputTokensOf(usage),
    outputTokens: sum.outputTokens + outputTokensOf(usage),
    netChargeYuan: addYuan(sum.netChargeYuan, netChargeYuan),
  };
}

/** Input tokens of all kinds, including cache reads and writes. */
export function inputTokensOf(usage: object): number {
  return sumOf(usage, /^(?:input|cachedInput|cacheWrite\w*|imageInput|audioInput)Tokens$/);
}

/** Output tokens of all kinds. Reasoning tokens are part of `outputTokens`. */
export function outputTokensOf(usage: object): number {
  return sumOf(usage, /^(?:output|imageOutput|audioOutput|separateReasoning)Tokens$/);
}

function sumOf(usage: object, kind: RegExp): number {
  return Object.entries(usage).reduce((sum, [unit, count]) => (kind.test(unit) ? sum + Number(count) : sum), 0);
}
