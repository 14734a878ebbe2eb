/**
 * What a call used, as the provider reported it. The counts are disjoint, so that a charge is a plain sum: cached input
 * and cache writes are not inside `inputTokens`, whatever the provider's protocol counts together (design 5.11).
 */
export interface TokenUsage {
  /** Input tokens at the full price. */
  readonly inputTokens: number;
  /** Input tokens read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** Input tokens written to the provider's cache for five minutes, or for a time that the provider did not state. */
  readonly cacheWriteTokens: number;
  /** Input tokens written to the provider's cache for one hour. */
  readonly cacheWrite1hTokens: number;
  /** Output tokens, reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was reasoning; for the record, never charged on top. */
  readonly reasoningTokens: number;
}

/** Nothing at all; what is known is put over it. */
export const noUsage: TokenUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** Whether the provider reported the counts, or the gateway had to estimate some of them. */
export type UsageSource = 'observed' | 'estimated';

export interface UsageFacts extends TokenUsage {
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
