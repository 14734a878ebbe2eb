import { isRecord } from '../../lib/json/json.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { roundsShown } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import { DOUBTFUL_TOTAL, unstatedTokens } from '../metering/stated-totals.ts';
import { reportedToolUses, type ToolUses } from '../metering/tool-uses.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
import { noUsage, readCount, sumCounts, type Usage } from '../metering/usage-facts.ts';
import { readSeparateTokens } from './separate-tokens.ts';

interface ChatUsageContext {
  readonly serviceTier?: unknown;
  readonly asksForSearch?: boolean;
  readonly shown?: ToolUses;
  /** Number of rounds at the provider that the response shows, but not its usage. */
  readonly shownRounds?: number;
  readonly outputTokensMax?: number | undefined;
}

/** Reads chat usage. Prompt and completion include cached, written and reasoning tokens, unless only `total_tokens` includes them. */
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
  // SGLang reports reasoning tokens next to the totals rather than in the details.
  const nextToTotals =
    separate === null || separate.separateReasoningTokens > 0 ? 0 : readCount(usage.reasoning_tokens);
  const reasoning = Math.max(readCount(completionDetails.reasoning_tokens) ?? 0, nextToTotals ?? 0);
  const serverToolUses = Math.max(roundsShown(usage), shownRounds, sumCounts(shown), sumCounts(toolUses));
  const unstated = unstatedTokens(
    usage,
    { inputTokens: statedPrompt, outputTokens: completionTokens, reasoningTokens: reasoning, cache, separate },
    outputTokensMax * (1 + serverToolUses),
  );
  const promptTokens = statedPrompt + unstated.cacheTokens;
  const outputTokens = completionTokens + unstated.outputTokens;
  const marked = [...cache.unexplained, ...unreadCounts(usage), ...(unstated.isDoubtful ? [DOUBTFUL_TOTAL] : [])];
  // Mistral reports the tier in the usage.
  const servedOn = readTerms({ service_tier: serviceTier ?? usage.service_tier }, ['serviceTier']);

  // No detail may exceed what is left of its total, so that no token counts twice.
  const input = new Remainder(promptTokens);
  const cachedInputTokens = input.take(cache.read + unstated.unknownTokens);
  const cacheWrite1hTokens = input.take(cache.written1h);
  const cacheWriteTokens = input.take(cache.written - cache.written1h);
  const audioInputTokens = input.take(readCount(promptDetails.audio_tokens));
  // DashScope counts video frames separately but bills them as images.
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
    // A tool use in OpenRouter's totals may count twice. This only raises the bounds of the call.
    serverToolUses,
    ...(servedOn && { servedOn }),
    ...(marked.length > 0 && { unexplained: marked }),
  };
}

/** Returns the greater of two counts. A relay can report both names, one of them as zero. */
function greaterCount(own: unknown, other: unknown): number | null | undefined {
  const [count, otherCount] = [readCount(own), readCount(other)];
  if (count === null) return otherCount;
  return count === undefined ? undefined : Math.max(count, otherCount ?? 0);
}

function detailsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

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

/** Counts tool uses. Models that always search with `web_search_options` report no searches, but their vendors bill one per call. */
export function chatToolUses(
  usage: Readonly<Record<string, unknown>>,
  { asksForSearch = false, shown = {} }: ChatUsageContext,
): ToolUses {
  const reported = reportedToolUses(usage);
  if (reported !== null) return reported.areAll ? reported.uses : { ...shown, ...reported.uses };
  return { ...shown, webSearches: Math.max(shown.webSearches ?? 0, asksForSearch ? 1 : 0) };
}
