import type { ServiceTerms } from './service-terms.ts';
import { byUnit, type UnitCounts, unitNames, unitsWhere } from './usage-units.ts';

/** Usage of a call. No token is in two counts: `inputTokens` excludes cached input, cache writes and image tokens. */
export interface Usage extends UnitCounts {
  /** Images, grouped by what determines their price. */
  readonly images: readonly ImageCount[];
  readonly servedOn?: ServiceTerms;
  /** Model runs of the call, if the provider lists them. */
  readonly parts?: readonly ModelUsage[];
  /** Paths of counts that might be billed, but whose name is unknown, whose unit is missing, or whose value cannot be true. */
  readonly unexplained?: readonly string[];
}

export interface ModelUsage {
  readonly model: string | null;
  /** Whether the totals of the whole usage include this run. */
  readonly isInside: boolean;
  readonly usage: Usage;
}

export interface MediaTokens {
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  /** Images of another model, which the totals exclude. */
  readonly parts?: readonly ModelUsage[];
}

/** Number of images with the same quality and size; `null`: neither the response nor the request states it. */
export interface ImageCount {
  readonly quality: string | null;
  readonly size: string | null;
  /** Name of the size in the request, such as 2K, if the response states pixels. */
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

export type UsageSource = 'observed' | 'estimated';

export type DoubtedSide = 'input' | 'output' | 'searchUnits';

export interface UsageFacts extends Usage {
  readonly source: UsageSource;
  /** Which reported counts cannot be true and were therefore estimated. */
  readonly doubted?: readonly DoubtedSide[];
}

/** Maximum count: the contract defines counts as int32 (2.1, 2.2). */
export const TOKEN_COUNT_MAX = 2_147_483_647;

/** Reads a count of the contract (2.1, 2.2). `null`: absent. `undefined`: no int32 from 0 on, so the whole usage is unusable. */
export function readDeclaredCount(reported: unknown): number | null | undefined {
  return typeof reported === 'string' ? undefined : readCount(reported);
}

/** Reads a count that the contract does not define. Accepts digits in a string too, which some relays send. */
export function readCount(reported: unknown): number | null | undefined {
  if (reported === undefined || reported === null) return null;
  const count = typeof reported === 'string' && DIGITS.test(reported) ? Number(reported) : reported;
  if (typeof count !== 'number' || !Number.isInteger(count)) return undefined;
  return count < 0 || count > TOKEN_COUNT_MAX ? undefined : count;
}

const DIGITS = /^\d{1,10}$/;

/** Adds up the counts in an object. Other members are ignored. */
export function sumCounts(counts: unknown): number {
  if (typeof counts !== 'object' || counts === null) return 0;
  let sum = 0;
  for (const value of Object.values(counts)) sum += readCount(value) ?? 0;
  return sum;
}

const INPUT = unitsWhere(({ side }) => side === 'input');
const OUTPUT = unitsWhere(({ side }) => side === 'output');

/** Returns all tokens that the model has read, cached ones included. */
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
