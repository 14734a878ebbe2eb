/**
 * What a call used, as the provider reported it. The counts are disjoint, so that a charge is a plain sum: cached input,
 * cache writes and image tokens are not inside `inputTokens`, image tokens not inside `outputTokens`, whatever the
 * provider's protocol counts together (design 5.11).
 */
export interface Usage {
  /** Input tokens at the full price. */
  readonly inputTokens: number;
  /** Input tokens read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** Input tokens written to the provider's cache for five minutes, or for a time that the provider did not state. */
  readonly cacheWriteTokens: number;
  /** Input tokens written to the provider's cache for one hour. */
  readonly cacheWrite1hTokens: number;
  /** Input tokens of images, where the provider tells them apart from those of text. */
  readonly imageInputTokens: number;
  /** Output tokens, reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was reasoning; for the record, never charged on top. */
  readonly reasoningTokens: number;
  /** Output tokens of images. */
  readonly imageOutputTokens: number;
  /** The images that were delivered, by what their price may depend on. */
  readonly images: readonly ImageCount[];
  /** Units in which some providers count rerank calls: a query against up to a hundred documents. */
  readonly searchUnits: number;
  /** How often the provider ran a tool; with each of them the model read its context again. Never charged by itself. */
  readonly serverToolUses: number;
  /** How often the provider had the context summarized; what that took is among the other counts. */
  readonly compactions: number;
  /** What single models used, where the provider tells them apart. */
  readonly parts?: readonly ModelUsage[];
}

/** The usage of one model in one run; inside the totals of its report, or beside them. */
export interface ModelUsage {
  /** As the provider calls it; `null` where it does not say. */
  readonly model: string | null;
  readonly isInside: boolean;
  readonly usage: Usage;
}

/** A number of images of one quality and size; `null` where neither the answer nor the request names them. */
export interface ImageCount {
  readonly quality: string | null;
  readonly size: string | null;
  readonly count: number;
}

/** Nothing at all; what is known is put over it. */
export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  imageInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  imageOutputTokens: 0,
  images: [],
  searchUnits: 0,
  serverToolUses: 0,
  compactions: 0,
};

/** Two parts of a call together. */
export function addUsage(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
    cacheWrite1hTokens: left.cacheWrite1hTokens + right.cacheWrite1hTokens,
    imageInputTokens: left.imageInputTokens + right.imageInputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
    imageOutputTokens: left.imageOutputTokens + right.imageOutputTokens,
    images: [...left.images, ...right.images],
    searchUnits: left.searchUnits + right.searchUnits,
    serverToolUses: left.serverToolUses + right.serverToolUses,
    compactions: left.compactions + right.compactions,
  };
}

/** What a call is charged by; its facts are usable only where they have that (design 5.10). */
export type ChargeBasis = 'tokens' | 'images' | 'searchUnits' | 'calls';

/** Whether the provider reported the counts, or the gateway had to estimate some of them. */
export type UsageSource = 'observed' | 'estimated';

export interface UsageFacts extends Usage {
  readonly source: UsageSource;
}

/** The largest count that is believed; the contract's counts are int32 (2.1, 2.2). */
export const TOKEN_COUNT_MAX = 2_147_483_647;

/**
 * Reads one count of a usage object. Absent and null are `null`; anything that is not a whole number from 0 to
 * `TOKEN_COUNT_MAX` is `undefined`, which makes the facts unusable rather than zero.
 */
export function readCount(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > TOKEN_COUNT_MAX) return undefined;
  return value;
}

/** The sum of the counts that an object has, such as one for each kind of tool; whatever else it has counts nothing. */
export function sumCounts(counts: unknown): number {
  if (typeof counts !== 'object' || counts === null) return 0;
  return Object.values(counts).reduce((sum: number, value) => sum + (readCount(value) ?? 0), 0);
}

/** Everything that was read and written. */
export function totalTokens(usage: Usage): number {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, imageInputTokens } = usage;
  const read = inputTokens + cachedInputTokens + cacheWriteTokens + cacheWrite1hTokens + imageInputTokens;
  return read + usage.outputTokens + usage.imageOutputTokens;
}
