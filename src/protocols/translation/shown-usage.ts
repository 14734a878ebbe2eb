import { inputTokensOf, outputTokensOf, type Usage } from '../metering/usage-facts.ts';

/** Usage of a call as clients read it. It is computed from the facts that the call is charged by, so both agree. */
export interface ShownUsage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export function shownUsage(usage: Usage): ShownUsage {
  return {
    inputTokens: inputTokensOf(usage),
    cachedTokens: usage.cachedInputTokens,
    cacheWriteTokens: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    cacheWrite1hTokens: usage.cacheWrite1hTokens,
    outputTokens: outputTokensOf(usage),
    reasoningTokens: usage.reasoningTokens + usage.separateReasoningTokens,
  };
}

/** Members of `usage` in the messages protocol, whose `input_tokens` excludes what was read from or written to a cache. */
export function messagesUsage(shown: ShownUsage): string {
  const { inputTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens } = shown;
  const lifetimes = {
    ephemeral_5m_input_tokens: cacheWriteTokens - cacheWrite1hTokens,
    ephemeral_1h_input_tokens: cacheWrite1hTokens,
  };
  return JSON.stringify({
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    ...(cacheWriteTokens > 0 && { cache_creation: lifetimes }),
    output_tokens: outputTokens,
  });
}

/** `usage` in the chat protocol, whose totals include cached and reasoning tokens. */
export function chatUsage(shown: ShownUsage): string {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = shown;
  return JSON.stringify({
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }),
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  });
}

/** `usage` in the responses protocol. */
export function responsesUsage(shown: ShownUsage): string {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = shown;
  return JSON.stringify({
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  });
}
