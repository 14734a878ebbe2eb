import { isRecord } from '../../lib/json/json.ts';
import { readImageUsage } from '../images/usage.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { roundsShown, usesShown } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import { DOUBTFUL_TOTAL, unstatedTokens } from '../metering/stated-totals.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
import { type ModelUsage, noUsage, readCount, type Usage } from '../metering/usage-facts.ts';
import { billedToolUses, type ContainerUse, NO_CONTAINERS, roundsOf } from './tool-uses.ts';

/** What else than usage and response says what a call costs. */
export interface ResponsesUsageContext {
  readonly containerUse?: ContainerUse;
  /** The most output that the request allows. */
  readonly outputTokensMax?: number;
}

/**
 * Usage facts of the responses protocol. `input_tokens` and `output_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning or a cache in `total_tokens` alone. Details that are missing
 * count 0; totals that are missing make the facts unusable.
 *
 * Writes are counted apart by lifetime, 30 minutes and 12 hours. There are two prices for writes, a short-lived and a
 * long-lived one, so those of 12 hours count as `cacheWrite1hTokens`, and all others as `cacheWriteTokens`.
 *
 * The response around the usage shows the tier that it was served on, and the uses of tools.
 */
export function readResponsesUsage(
  usage: unknown,
  response: Readonly<Record<string, unknown>> = {},
  { containerUse = NO_CONTAINERS, outputTokensMax = Number.POSITIVE_INFINITY }: ResponsesUsageContext = {},
): Usage | null {
  if (!isRecord(usage)) return null;
  const inputTokens = readCount(usage.input_tokens);
  const outputTokens = readCount(usage.output_tokens);
  if (inputTokens == null || outputTokens == null) return null;

  const cache = readCacheCounts(usage, 'responses');
  const reasoningTokens = readCount(detailsOf(usage.output_tokens_details).reasoning_tokens) ?? 0;
  const shownUses = usesShown({ tool_usage: response.tool_usage });
  const serverToolUses = Math.max(roundsOf(response.output), roundsShown(usage), shownUses);
  const unstated = unstatedTokens(
    usage,
    { inputTokens, outputTokens, reasoningTokens, cache },
    outputTokensMax * (1 + serverToolUses),
  );
  const inputTotal = inputTokens + unstated.cacheTokens;
  const outputTotal = outputTokens + unstated.outputTokens;
  const marked = [...cache.unexplained, ...unreadCounts(usage), ...(unstated.isDoubtful ? [DOUBTFUL_TOTAL] : [])];

  const servedOn = readTerms(response, ['serviceTier']);
  const images = imagesOf(response.tool_usage);

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const cachedInputTokens = Math.min(cache.read + unstated.unknownTokens, inputTotal);
  const writtenTotal = Math.min(cache.written, inputTotal - cachedInputTokens);
  const cacheWrite1hTokens = Math.min(cache.written1h, writtenTotal);
  return {
    ...noUsage,
    inputTokens: inputTotal - cachedInputTokens - writtenTotal,
    cachedInputTokens,
    cacheWriteTokens: writtenTotal - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: outputTotal,
    reasoningTokens: Math.min(reasoningTokens, outputTotal),
    ...billedToolUses(response, usage, containerUse),
    serverToolUses,
    ...(servedOn && { servedOn }),
    ...(marked.length > 0 && { unexplained: marked }),
    ...(images !== null && { parts: [images] }),
  };
}

/** The model that makes the images of the tool for them has no name in a report. */
export const IMAGE_MODEL = 'image_generation';

/** What another model used to make images; it is not in the usage of the response. */
function imagesOf(toolUsage: unknown): ModelUsage | null {
  const usage = readImageUsage(detailsOf(toolUsage).image_gen);
  return usage === null || usage.inputTokens + usage.imageInputTokens + usage.imageOutputTokens === 0
    ? null
    : { model: IMAGE_MODEL, isInside: false, usage };
}

function detailsOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
