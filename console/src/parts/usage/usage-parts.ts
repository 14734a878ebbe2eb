import type { UsageGroup } from './usage-group.ts';

/** What a chart shows of each group. */
export type UsageMeasure = 'charge' | 'calls' | 'tokens';

/** What groups are of: those of one id belong together, and the name is shown. Names may be the same, as those of keys. */
export interface UsagePart {
  readonly id: string;
  readonly name: string;
}

export type PartOf<Group = UsageGroup> = (group: Group) => UsagePart;

/** As many parts as there are colours. */
export const PARTS_MAX = 8;

/** How a key is named among others: by its name, and by its prefix, which differs where names do not. */
export function keyPart({ keyId, keyName, keyPrefix }: UsageGroup, unknown: string): UsagePart {
  const name = [keyName, keyPrefix].filter((part) => part != null && part !== '').join(' · ');
  return { id: keyId ?? '', name: name === '' ? (keyId ?? unknown) : name };
}

/** The figure of a group. Money becomes a number here, to be drawn; nothing is counted with it. */
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

/** All tokens in and out; reasoning tokens are among the output. */
export function tokensOf({ usage }: Pick<UsageGroup, 'usage'>): number {
  return Object.entries(usage)
    .filter(([unit]) => unit.endsWith('Tokens') && unit !== 'reasoningTokens')
    .reduce((sum, [, count]) => sum + count, 0);
}

/** A part with its sum; `null`: all parts that are not among the greatest. */
export interface PartSum {
  readonly part: UsagePart | null;
  readonly value: number;
}

/** The sums of the greatest parts, the greatest first, and of all others if there are more. */
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

/** A day of a chart: the sums of its parts by the place of these in `parts`. */
export interface DayBar {
  readonly day: string;
  readonly [series: `part${number}`]: number;
}

/** The days as bars, those without a call too; the parts are the greatest of all days, and all others (`null`). */
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
