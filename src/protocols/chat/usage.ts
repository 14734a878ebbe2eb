import { isRecord } from '../../lib/json.ts';
import { noUsage, readCount, sumCounts, type Usage, wholeOutput } from '../metering/usage-facts.ts';

/**
 * Usage facts of the chat protocol. `prompt_tokens` and `completion_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning in `total_tokens` alone. Details that are missing count 0;
 * totals that are missing make the facts unusable.
 */
export function readChatUsage(usage: unknown): Usage | null {
  if (!isRecord(usage)) return null;
  const promptTokens = readCount(usage.prompt_tokens);
  const completionTokens = readCount(usage.completion_tokens);
  if (promptTokens == null || completionTokens == null) return null;
  const outputTokens = wholeOutput(promptTokens, completionTokens, usage.total_tokens);

  const promptDetails = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completionDetails = isRecord(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  // Dialects: DeepSeek reports hits at the top, Moonshot repeats the detail there.
  const cached =
    readCount(promptDetails.cached_tokens) ??
    readCount(usage.prompt_cache_hit_tokens) ??
    readCount(usage.cached_tokens) ??
    0;
  const written = readCount(promptDetails.cache_write_tokens) ?? 0;
  const reasoning = readCount(completionDetails.reasoning_tokens) ?? 0;

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const cachedInputTokens = Math.min(cached, promptTokens);
  const cacheWriteTokens = Math.min(written, promptTokens - cachedInputTokens);
  return {
    ...noUsage,
    inputTokens: promptTokens - cachedInputTokens - cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens: Math.min(reasoning, outputTokens),
    // Dialects: OpenRouter counts tools by kind, Perplexity counts searches.
    serverToolUses: sumCounts(usage.server_tool_use) + (readCount(usage.num_search_queries) ?? 0),
  };
}
