import { readCount } from '../metering/usage-facts.ts';

interface SeparateTokens {
  readonly citationTokens: number;
  readonly separateReasoningTokens: number;
}

/**
 * Reads tokens that Perplexity does not include in the totals (https://docs.perplexity.ai/getting-started/pricing). For other vendors,
 * `reasoning_tokens` is a part of the completion or of the total.
 */
export function readSeparateTokens(usage: Readonly<Record<string, unknown>>): SeparateTokens | null {
  // Fast path for nearly all calls.
  if (usage.citation_tokens === undefined && usage.reasoning_tokens === undefined) return null;
  const citations = readCount(usage.citation_tokens);
  const reasoning = readCount(usage.reasoning_tokens) ?? 0;
  const completion = readCount(usage.completion_tokens) ?? 0;
  const isInTotal =
    (readCount(usage.total_tokens) ?? 0) >= (readCount(usage.prompt_tokens) ?? 0) + completion + reasoning;
  const isSeparate = citations != null || (reasoning > completion && !isInTotal);
  return { citationTokens: citations ?? 0, separateReasoningTokens: isSeparate ? reasoning : 0 };
}
