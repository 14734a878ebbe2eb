import { readCount } from '../metering/usage-facts.ts';

/** Tokens that a provider counts outside of prompt, completion and total, each with a price of its own. */
interface SeparateTokens {
  readonly citationTokens: number;
  readonly separateReasoningTokens: number;
}

/**
 * Reads the citations and the reasoning that Perplexity's research counts separately
 * (https://docs.perplexity.ai/getting-started/pricing). A `reasoning_tokens` of other vendors at this place repeats a part of the
 * completion, which is never larger than the completion, or is output that the completion leaves out and the total includes.
 */
export function readSeparateTokens(usage: Readonly<Record<string, unknown>>): SeparateTokens | null {
  // Nearly all calls.
  if (usage.citation_tokens === undefined && usage.reasoning_tokens === undefined) return null;
  const citations = readCount(usage.citation_tokens);
  const reasoning = readCount(usage.reasoning_tokens) ?? 0;
  const completion = readCount(usage.completion_tokens) ?? 0;
  const isInTotal =
    (readCount(usage.total_tokens) ?? 0) >= (readCount(usage.prompt_tokens) ?? 0) + completion + reasoning;
  const isSeparate = citations != null || (reasoning > completion && !isInTotal);
  return { citationTokens: citations ?? 0, separateReasoningTokens: isSeparate ? reasoning : 0 };
}
