import type { ServiceTerms } from './service-terms.ts';
import { byUnit, type UnitCounts, unitNames, unitsWhere } from './usage-units.ts';

/**
 * What a call used, as the provider reported it. The counts are disjoint, so that a charge is a plain sum: cached
 * input, cache writes and image tokens are not inside `inputTokens`, image tokens not inside `outputTokens`, whatever
 * the provider's protocol counts together.
 */
export interface Usage extends UnitCounts {
  /** The images that were delivered, by what their price may depend on. */
  readonly images: readonly ImageCount[];
  /** The terms on which the provider says that it served the call. */
  readonly servedOn?: ServiceTerms;
  /** The runs of models of which the call consists, as far as the provider lists them. */
  readonly parts?: readonly ModelUsage[];
  /** Members of the report that count what may be billed, in a spelling that is not known or without a unit, or that cannot be believed. */
  readonly unexplained?: readonly string[];
}

/** The usage of one run of a model; inside the totals of the usage that it is part of, or beside them. */
export interface ModelUsage {
  /** As the provider calls it; `null` if it does not say. */
  readonly model: string | null;
  readonly isInside: boolean;
  readonly usage: Usage;
}

/** The estimated output of a call that is no text: sounds and pictures. */
export interface MediaTokens {
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  /** Pictures of another model, which the provider counts beside the totals. */
  readonly parts?: readonly ModelUsage[];
}

/** A number of images of one quality and size; `null` if neither the response nor the request names them. */
export interface ImageCount {
  readonly quality: string | null;
  readonly size: string | null;
  /** The vendor's name of the size that was asked for, such as 2K, if the response states pixels. */
  readonly sizeName?: string;
  readonly count: number;
}

/** All counts zero; known counts replace them. */
export const noUsage: Usage = { ...byUnit(() => 0), images: [] };

/** How many images were delivered. */
export function countImages({ images }: Pick<Usage, 'images'>): number {
  return images.reduce((sum, { count }) => sum + count, 0);
}

/** Two parts of a call together. */
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

/** What a call is charged by; its facts are usable only if they have that. */
export type ChargeBasis = 'tokens' | 'images' | 'searchUnits' | 'calls';

/** Whether the provider reported the counts, or the gateway had to estimate some of them. */
export type UsageSource = 'observed' | 'estimated';

/** A side of a usage: what was read, what was written, and the units of a rerank. */
export type DoubtedSide = 'input' | 'output' | 'searchUnits';

export interface UsageFacts extends Usage {
  readonly source: UsageSource;
  /** What the provider reported and cannot be true, so that it is estimated. Absent: nothing. */
  readonly doubted?: readonly DoubtedSide[];
}

/** The largest count that is believed; the contract's counts are int32 (2.1, 2.2). */
export const TOKEN_COUNT_MAX = 2_147_483_647;

/**
 * Reads one count of a usage object whose shape the contract declares (2.1, 2.2). Absent and null are `null`; anything that is
 * not a whole number from 0 to `TOKEN_COUNT_MAX` is `undefined`, which makes the facts unusable rather than zero.
 */
export function readDeclaredCount(reported: unknown): number | null | undefined {
  return typeof reported === 'string' ? undefined : readCount(reported);
}

/** As `readDeclaredCount`, where the contract declares no shape: some relays send counts as text of digits. */
export function readCount(reported: unknown): number | null | undefined {
  if (reported === undefined || reported === null) return null;
  const count = typeof reported === 'string' && DIGITS.test(reported) ? Number(reported) : reported;
  if (typeof count !== 'number' || !Number.isInteger(count)) return undefined;
  return count < 0 || count > TOKEN_COUNT_MAX ? undefined : count;
}

const DIGITS = /^\d{1,10}$/;

/** The sum of the counts that an object has, such as one for each kind of tool; other members are ignored. */
export function sumCounts(counts: unknown): number {
  if (typeof counts !== 'object' || counts === null) return 0;
  let sum = 0;
  for (const value of Object.values(counts)) sum += readCount(value) ?? 0;
  return sum;
}

const INPUT = unitsWhere(({ side }) => side === 'input');
const OUTPUT = unitsWhere(({ side }) => side === 'output');

/** Everything that the model read, cached or not. */
export function inputTokensOf(usage: UnitCounts): number {
  let sum = 0;
  for (const name of INPUT) sum += usage[name];
  return sum;
}

/** Everything that it wrote. */
export function outputTokensOf(usage: UnitCounts): number {
  let sum = 0;
  for (const name of OUTPUT) sum += usage[name];
  return sum;
}

/** Everything that was read and written. */
export function totalTokens(usage: UnitCounts): number {
  return inputTokensOf(usage) + outputTokensOf(usage);
}
