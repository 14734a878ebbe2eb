import { isRecord } from '../../lib/json.ts';
import { readTerms } from '../metering/service-terms.ts';
import { readToolUses, type ToolUses } from '../metering/tool-uses.ts';
import { noUsage, readCount, sumCounts, type Usage } from '../metering/usage-facts.ts';

/** What else than the usage says what a call costs. */
export interface ChatUsageContext {
  /** The `service_tier` of the response. */
  readonly serviceTier?: unknown;
  /** Whether the request asks for a search of the web otherwise than by a tool. */
  readonly asksForSearch?: boolean;
}

/**
 * Usage facts of the chat protocol. `prompt_tokens` and `completion_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning in `total_tokens` alone. Details that are missing count 0;
 * totals that are missing make the facts unusable.
 */
export function readChatUsage(
  usage: unknown,
  { serviceTier, asksForSearch = false }: ChatUsageContext = {},
): Usage | null {
  if (!isRecord(usage)) return null;
  const statedPrompt = readCount(usage.prompt_tokens);
  const completionTokens = readCount(usage.completion_tokens);
  if (statedPrompt == null || completionTokens == null) return null;

  const promptDetails = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completionDetails = isRecord(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  // Dialects: DeepSeek reports hits at the top, Moonshot repeats the detail there.
  const stated = {
    cached:
      readCount(promptDetails.cached_tokens) ??
      readCount(usage.prompt_cache_hit_tokens) ??
      readCount(usage.cached_tokens) ??
      0,
    written: readCount(promptDetails.cache_write_tokens) ?? 0,
  };
  const beyond = (readCount(usage.total_tokens) ?? 0) - statedPrompt - completionTokens;
  const beside = cacheBesidePrompt(usage, beyond, stated);
  const { cached, written } = beside ?? stated;
  const promptTokens = beside === null ? statedPrompt : statedPrompt + beyond;
  const outputTokens = beside === null ? completionTokens + Math.max(beyond, 0) : completionTokens;
  const reasoning = readCount(completionDetails.reasoning_tokens) ?? 0;
  const toolUses = toolUsesOf(usage, asksForSearch);
  const servedOn = readTerms({ service_tier: serviceTier }, ['serviceTier']);

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const input = new Remainder(promptTokens);
  const cachedInputTokens = input.take(cached);
  const cacheWriteTokens = input.take(written);
  const audioInputTokens = input.take(readCount(promptDetails.audio_tokens));
  // DashScope counts frames of videos apart, and bills them as images.
  const imageInputTokens =
    input.take(readCount(promptDetails.image_tokens)) + input.take(readCount(promptDetails.video_tokens));
  const output = new Remainder(outputTokens);
  const audioOutputTokens = output.take(readCount(completionDetails.audio_tokens));
  const imageOutputTokens = output.take(readCount(completionDetails.image_tokens));
  return {
    ...noUsage,
    inputTokens: input.left,
    cachedInputTokens,
    cacheWriteTokens,
    imageInputTokens,
    audioInputTokens,
    outputTokens: output.left,
    imageOutputTokens,
    audioOutputTokens,
    reasoningTokens: Math.min(reasoning, output.left),
    ...toolUses,
    // OpenRouter counts a use again in its totals; the bounds that follow from these rounds are only the wider for it.
    serverToolUses: Math.max(sumCounts(usage.server_tool_use), sumCounts(toolUses)),
    ...(servedOn && { servedOn }),
  };
}

interface CacheTokens {
  readonly cached: number;
  readonly written: number;
}

/**
 * Dialect of relays to Bedrock: `prompt_tokens` leaves tokens of the cache out, all of them or those that were written, and the
 * total has them. Then these are exactly what the total has beyond prompt and completion; `null` where that is output.
 */
function cacheBesidePrompt(
  usage: Readonly<Record<string, unknown>>,
  beyond: number,
  { cached, written }: CacheTokens,
): CacheTokens | null {
  if (beyond <= 0) return null;
  const read = readCount(usage.cache_read_input_tokens) ?? cached;
  const made = readCount(usage.cache_creation_input_tokens) ?? written;
  if (beyond === read + made) return { cached: read, written: made };
  if (beyond === made) return { cached, written: made };
  return beyond === read ? { cached: read, written } : null;
}

/** What details leave of the total that they are part of. */
class Remainder {
  left: number;

  constructor(total: number) {
    this.left = total;
  }

  take(count: number | null | undefined): number {
    const taken = Math.min(count ?? 0, this.left);
    this.left -= taken;
    return taken;
  }
}

/**
 * Dialects: OpenRouter and xAI count tools by kind, Perplexity and DashScope count searches. Models that search whenever
 * `web_search_options` ask for it report nothing; their vendors bill a search a call.
 */
function toolUsesOf(usage: Readonly<Record<string, unknown>>, asksForSearch: boolean): ToolUses {
  const byKind = readToolUses(usage.server_tool_use) ?? readToolUses(usage.server_side_tool_usage_details);
  if (byKind !== null) return byKind;
  const search = isRecord(usage.plugins) && isRecord(usage.plugins.search) ? usage.plugins.search.count : null;
  return { webSearches: readCount(usage.num_search_queries) ?? readCount(search) ?? (asksForSearch ? 1 : 0) };
}
