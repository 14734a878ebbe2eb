import type { ServiceTerms } from './service-terms.ts';
import { byUnit, type UnitCounts, unitNames, unitsWhere } from './usage-units.ts';

/**
 * Usage of a call as reported by the provider. Counts are disjoint, so a charge is a plain sum: whatever the provider's protocol adds up,
 * `inputTokens` excludes cached input, cache writes and image tokens, and `outputTokens` excludes image tokens.
 */
export interface Usage extends UnitCounts {
  /** Grouped by the properties that affect their price. */
  readonly images: readonly ImageCount[];
  readonly servedOn?: ServiceTerms;
  /** Model runs within the call, if the provider lists them. */
  readonly parts?: readonly ModelUsage[];
  /** Paths of counts that may be billed but have an unknown name, no unit, or an implausible value. */
  readonly unexplained?: readonly string[];
}

/** Usage of one model run. `isInside`: the totals of the surrounding usage include it. */
export interface ModelUsage {
  readonly model: string | null;
  readonly isInside: boolean;
  readonly usage: Usage;
}

export interface MediaTokens {
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  /** Images by another model, which the provider counts separately from the totals. */
  readonly parts?: readonly ModelUsage[];
}

/** A number of images with equal quality and size; `null` if neither the response nor the request specifies it. */
export interface ImageCount {
  readonly quality: string | null;
  readonly size: string | null;
  /** The size name in the request, such as 2K, if the response reports pixels. */
  readonly sizeName?: string;
  readonly count: number;
}

export const noUsage: Usage = { ...byUnit(() => 0), images: [] };

export function countImages({ images }: Pick<Usage, 'images'>): number {
  return images.reduce((sum, { count }) => sum + count, 0);
}

export function addUsage(left: Usage, right: Usage): Usage {
  const servedOn = left.servedOn ?? right.servedOn;
  const unexplained = left.unexplained ?? right.unexplained;
  const sum = {
    ...noUsage,
    images: [...left.images, ...right.images],
    ...(servedOn && { servedOn }),
    ...(unexplained && { unexplained }),
  } as {
    -readonly [Name in keyof Usage]: Usage[Name];
  };
  for (const name of unitNames) sum[name] = left[name] + right[name];
  return sum;
}

export type ChargeBasis = 'tokens' | 'images' | 'searchUnits' | 'calls';

/** Whether the provider reported all counts, or the gateway estimated some. */
export type UsageSource = 'observed' | 'estimated';

export type DoubtedSide = 'input' | 'output' | 'searchUnits';

export interface UsageFacts extends Usage {
  readonly source: UsageSource;
  /** Reported figures that are implausible and therefore estimated. Absent: none. */
  readonly doubted?: readonly DoubtedSide[];
}

/** The largest count accepted; counts in the contract are int32 (2.1, 2.2). */
export const TOKEN_COUNT_MAX = 2_147_483_647;

/**
 * Reads a count whose type the contract declares (2.1, 2.2). Absent and null are `null`. Anything else that is not an integer from 0 to
 * `TOKEN_COUNT_MAX` is `undefined`, which makes the usage unusable rather than zero.
 */
export function readDeclaredCount(reported: unknown): number | null | undefined {
  return typeof reported === 'string' ? undefined : readCount(reported);
}

/** Like `readDeclaredCount`, but also accepts digits in a string, which some relays send. For counts that the contract does not declare. */
export function readCount(reported: unknown): number | null | undefined {
  if (reported === undefined || reported === null) return null;
  const count = typeof reported === 'string' && DIGITS.test(reported) ? Number(reported) : reported;
  if (typeof count !== 'number' || !Number.isInteger(count)) return undefined;
  return count < 0 || count > TOKEN_COUNT_MAX ? undefined : count;
}

const DIGITS = /^\d{1,10}$/;

/** Sum of the counts in an object, such as one per tool; other members are ignored. */
export function sumCounts(counts: unknown): number {
  if (typeof counts !== 'object' || counts === null) return 0;
  let sum = 0;
  for (const value of Object.values(counts)) sum += readCount(value) ?? 0;
  return sum;
}

const INPUT = unitsWhere(({ side }) => side === 'input');
const OUTPUT = unitsWhere(({ side }) => side === 'output');

/** All tokens that the model read, including cached ones. */
export function inputTokensOf(usage: UnitCounts): number {
  let sum = 0;
  for (const name of INPUT) sum += usage[name];
  return sum;
}

export function outputTokensOf(usage: UnitCounts): number {
  let sum = 0;
  for (const name of OUTPUT) sum += usage[name];
  return sum;
}

export function totalTokens(usage: UnitCounts): number {
  return inputTokensOf(usage) + outputTokensOf(usage);
}
