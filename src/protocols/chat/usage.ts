import { isRecord } from '../../lib/json/json.ts';
import { type CacheCounts, readCacheCounts } from '../metering/cache-counts.ts';
import { readTerms } from '../metering/service-terms.ts';
import { reportedToolUses, type ToolUses } from '../metering/tool-uses.ts';
import { noUsage, readCount, sumCounts, type Usage } from '../metering/usage-facts.ts';
import { readSeparateTokens } from './separate-tokens.ts';

/** What else than the usage says what a call costs. */
interface ChatUsageContext {
  /** The `service_tier` of the response. */
  readonly serviceTier?: unknown;
  /** Whether the request asks for a search of the web otherwise than by a tool. */
  readonly asksForSearch?: boolean;
  /** The uses of tools that the response shows. */
  readonly shown?: ToolUses;
}

/**
 * Usage facts of the chat protocol. `prompt_tokens` and `completion_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning in `total_tokens` alone. Details that are missing count 0;
 * totals that are missing make the facts unusable.
 */
export function readChatUsage(
  usage: unknown,
  { serviceTier, asksForSearch = false, shown = {} }: ChatUsageContext = {},
): Usage | null {
  if (!isRecord(usage)) return null;
  const statedPrompt = readCount(usage.prompt_tokens);
  const completionTokens = readCount(usage.completion_tokens);
  if (statedPrompt == null || completionTokens == null) return null;

  const promptDetails = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completionDetails = isRecord(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const stated = readCacheCounts(usage, 'chat');
  const beyond = (readCount(usage.total_tokens) ?? 0) - statedPrompt - completionTokens;
  const beside = cacheBesidePrompt(usage, { promptTokens: statedPrompt, beyond }, stated);
  const { read, written, written1h } = beside ?? stated;
  const promptTokens = beside === null ? statedPrompt : statedPrompt + beside.besideTokens;
  const outputTokens = beside === null ? completionTokens + Math.max(beyond, 0) : completionTokens;
  const reasoning = readCount(completionDetails.reasoning_tokens) ?? 0;
  const toolUses = chatToolUses(usage, { asksForSearch, shown });
  const { unexplained } = stated;
  // Mistral states the tier inside the usage.
  const servedOn = readTerms({ service_tier: serviceTier ?? usage.service_tier }, ['serviceTier']);

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const input = new Remainder(promptTokens);
  const cachedInputTokens = input.take(read);
  const cacheWrite1hTokens = input.take(written1h);
  const cacheWriteTokens = input.take(written - written1h);
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
    cacheWrite1hTokens,
    imageInputTokens,
    audioInputTokens,
    outputTokens: output.left,
    imageOutputTokens,
    audioOutputTokens,
    reasoningTokens: Math.min(reasoning, output.left),
    ...readSeparateTokens(usage),
    ...toolUses,
    // OpenRouter counts a use again in its totals; the bounds that follow from these rounds are only the wider for it.
    serverToolUses: Math.max(sumCounts(usage.server_tool_use), sumCounts(toolUses)),
    ...(servedOn && { servedOn }),
    ...(unexplained.length > 0 && { unexplained }),
  };
}

interface BesideCounts extends Omit<CacheCounts, 'unexplained'> {
  /** The tokens of the cache that the prompt leaves out. */
  readonly besideTokens: number;
}

/**
 * Dialect of relays to vendors of the messages protocol: `prompt_tokens` leaves tokens of the cache out, all of them or those that
 * were written. Then these are exactly what the total has beyond prompt and completion, or the prompt is too small to have them,
 * under their names in messages; `null` if the prompt has them, and what is beyond it is output.
 */
function cacheBesidePrompt(
  usage: Readonly<Record<string, unknown>>,
  { promptTokens, beyond }: { readonly promptTokens: number; readonly beyond: number },
  { read: statedRead, written: statedWritten, written1h }: CacheCounts,
): BesideCounts | null {
  const ownRead = readCount(usage.cache_read_input_tokens) ?? 0;
  const ownWritten = readCount(usage.cache_creation_input_tokens) ?? 0;
  const [read, written] = [ownRead || statedRead, ownWritten || statedWritten];
  const beside = (besideTokens: number): BesideCounts => ({
    read,
    written,
    written1h: Math.min(written1h, written),
    besideTokens,
  });
  if (beyond <= 0) {
    const own = ownRead + ownWritten;
    return own > promptTokens ? beside(own) : null;
  }
  return [read + written, written, read].includes(beyond) ? beside(beyond) : null;
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
 * The provider's own counts go before what the response shows, tool by tool. Models that search whenever `web_search_options`
 * ask for it report nothing; their vendors bill a search a call.
 */
export function chatToolUses(
  usage: Readonly<Record<string, unknown>>,
  { asksForSearch = false, shown = {} }: ChatUsageContext,
): ToolUses {
  const reported = reportedToolUses(usage);
  if (reported !== null) return reported.areAll ? reported.uses : { ...shown, ...reported.uses };
  return { ...shown, webSearches: Math.max(shown.webSearches ?? 0, asksForSearch ? 1 : 0) };
}
