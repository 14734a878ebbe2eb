import { isRecord } from '../../lib/json/json.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { roundsShown } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import { DOUBTFUL_TOTAL, unstatedTokens } from '../metering/stated-totals.ts';
import { reportedToolUses, type ToolUses } from '../metering/tool-uses.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
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
  /** The rounds at the provider that it shows elsewhere. */
  readonly shownRounds?: number;
  /** The most output that the request allows for all its choices. */
  readonly outputTokensMax?: number | undefined;
}

/**
 * Usage facts of the chat protocol. `prompt_tokens` and `completion_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning or a cache in `total_tokens` alone. Details that are missing
 * count 0; totals that are missing make the facts unusable. Some servers name them as responses do (mlx-vlm).
 */
export function readChatUsage(usage: unknown, context: ChatUsageContext = {}): Usage | null {
  if (!isRecord(usage)) return null;
  const statedPrompt = greaterCount(usage.prompt_tokens, usage.input_tokens);
  const completionTokens = greaterCount(usage.completion_tokens, usage.output_tokens);
  if (statedPrompt == null || completionTokens == null) return null;

  const { serviceTier, shown = {}, shownRounds = 0, outputTokensMax = Number.POSITIVE_INFINITY } = context;
  const hasOwnDetails = isRecord(usage.prompt_tokens_details) || !isRecord(usage.input_tokens_details);
  const promptDetails = detailsOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const completionDetails = detailsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  const cache = readCacheCounts(usage, hasOwnDetails ? 'chat' : 'responses');
  const toolUses = chatToolUses(usage, context);
  const separate = readSeparateTokens(usage);
  // SGLang reports it next to the totals, which include it.
  const beside = separate === null || separate.separateReasoningTokens > 0 ? 0 : readCount(usage.reasoning_tokens);
  const reasoning = Math.max(readCount(completionDetails.reasoning_tokens) ?? 0, beside ?? 0);
  const serverToolUses = Math.max(roundsShown(usage), shownRounds, sumCounts(shown), sumCounts(toolUses));
  const unstated = unstatedTokens(
    usage,
    { inputTokens: statedPrompt, outputTokens: completionTokens, reasoningTokens: reasoning, cache, separate },
    outputTokensMax * (1 + serverToolUses),
  );
  const promptTokens = statedPrompt + unstated.cacheTokens;
  const outputTokens = completionTokens + unstated.outputTokens;
  const marked = [...cache.unexplained, ...unreadCounts(usage), ...(unstated.isDoubtful ? [DOUBTFUL_TOTAL] : [])];
  // Mistral states the tier inside the usage.
  const servedOn = readTerms({ service_tier: serviceTier ?? usage.service_tier }, ['serviceTier']);

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const input = new Remainder(promptTokens);
  const cachedInputTokens = input.take(cache.read + unstated.unknownTokens);
  const cacheWrite1hTokens = input.take(cache.written1h);
  const cacheWriteTokens = input.take(cache.written - cache.written1h);
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
    ...separate,
    ...toolUses,
    // OpenRouter counts a use again in its totals; the bounds that follow from these rounds are only the wider for it.
    serverToolUses,
    ...(servedOn && { servedOn }),
    ...(marked.length > 0 && { unexplained: marked }),
  };
}

/** A count under its own name, or under that of another protocol if that is more; a relay may state both, one of them as zero. */
function greaterCount(own: unknown, other: unknown): number | null | undefined {
  const [count, otherCount] = [readCount(own), readCount(other)];
  if (count === null) return otherCount;
  return count === undefined ? undefined : Math.max(count, otherCount ?? 0);
}

function detailsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
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
