import type { UsageGroup } from './usage-group.ts';

export type UsageMeasure = 'charge' | 'calls' | 'tokens';

/** What a group belongs to. Groups with the same id belong together; names, such as those of keys, may not be unique. */
export interface UsagePart {
  readonly id: string;
  readonly name: string;
}

export type PartOf<Group = UsageGroup> = (group: Group) => UsagePart;

/** The number of colours. */
export const PARTS_MAX = 8;

/** A key with its name and prefix, because names may not be unique. */
export function keyPart({ keyId, keyName, keyPrefix }: UsageGroup, unknown: string): UsagePart {
  const name = [keyName, keyPrefix].filter((part) => part != null && part !== '').join(' · ');
  return { id: keyId ?? '', name: name === '' ? (keyId ?? unknown) : name };
}

/** The figure of a group as a number to draw. Amounts are not calculated from it. */
export function measureOf(group: UsageGroup, measure: UsageMeasure): number {
  switch (measure) {
    case 'charge':
      return Number(group.netChargeYuan);
    case 'calls':
      return group.calls;
    case 'tokens':
      return tokensOf(group);
  }
}

/** Input and output tokens. Reasoning tokens are part of the output. */
export function tokensOf({ usage }: Pick<UsageGroup, 'usage'>): number {
  return Object.entries(usage)
    .filter(([unit]) => unit.endsWith('Tokens') && unit !== 'reasoningTokens')
    .reduce((sum, [, count]) => sum + count, 0);
}

/** A part with its sum; `null` stands for all other parts. */
export interface PartSum {
  readonly part: UsagePart | null;
  readonly value: number;
}

/** The largest parts in descending order, then the sum of all others, if any. */
export function sharesOf(groups: readonly UsageGroup[], measure: UsageMeasure, partOf: PartOf): PartSum[] {
  const sums = new Map<string, { part: UsagePart; value: number }>();
  for (const group of groups) {
    const part = partOf(group);
    const sum = sums.get(part.id) ?? { part, value: 0 };
    sums.set(part.id, { part: sum.part, value: sum.value + measureOf(group, measure) });
  }
  const sorted = [...sums.values()].sort((a, b) => b.value - a.value);
  const others = sorted.slice(PARTS_MAX).reduce((sum, { value }) => sum + value, 0);
  return [...sorted.slice(0, PARTS_MAX), ...(sorted.length > PARTS_MAX ? [{ part: null, value: others }] : [])];
}

/** The bar of a day. `part0` is the value of the first of `parts`. */
export interface DayBar {
  readonly day: string;
  readonly [series: `part${number}`]: number;
}

/** A bar for each day, also without calls. The parts are the largest over all days, and `null` for all others. */
export function barsOf(
  groups: readonly UsageGroup[],
  days: readonly string[],
  measure: UsageMeasure,
  partOf: PartOf,
): { readonly bars: readonly DayBar[]; readonly parts: readonly (UsagePart | null)[] } {
  const parts = sharesOf(groups, measure, partOf).map(({ part }) => part);
  const places = new Map(parts.flatMap((part, place) => (part === null ? [] : [[part.id, place] as const])));
  const bars = new Map<string, Record<string, number | string>>(days.map((day) => [day, { day }]));
  for (const group of groups) {
    const bar = bars.get(group.day ?? '');
    if (bar === undefined) continue;
    const series = `part${places.get(partOf(group).id) ?? PARTS_MAX}`;
    bar[series] = Number(bar[series] ?? 0) + measureOf(group, measure);
  }
  return { bars: [...bars.values()] as unknown as DayBar[], parts };
}
