import { isRecord } from '../../lib/json/json.ts';
import { readImageUsage } from '../images/usage.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { readTerms } from '../metering/service-terms.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
import { type ModelUsage, noUsage, readCount, type Usage, wholeOutput } from '../metering/usage-facts.ts';
import { billedToolUses, type ContainerUse, NO_CONTAINERS, serverToolCalls } from './tool-uses.ts';

/**
 * Usage facts of the responses protocol. `input_tokens` and `output_tokens` are totals: cached, written and reasoning
 * tokens are inside them, but for providers that count reasoning in `total_tokens` alone. Details that are missing count 0;
 * totals that are missing make the facts unusable.
 *
 * Writes are counted apart by lifetime, 30 minutes and 12 hours. There are two prices for writes, a short-lived and a
 * long-lived one, so those of 12 hours count as `cacheWrite1hTokens`, and all others as `cacheWriteTokens`.
 *
 * The response around the usage shows the tier that it was served on, and the uses of tools.
 */
export function readResponsesUsage(
  usage: unknown,
  response: Readonly<Record<string, unknown>> = {},
  containerUse: ContainerUse = NO_CONTAINERS,
): Usage | null {
  if (!isRecord(usage)) return null;
  const inputTotal = readCount(usage.input_tokens);
  const stated = readCount(usage.output_tokens);
  if (inputTotal == null || stated == null) return null;
  const outputTotal = wholeOutput(inputTotal, stated, usage.total_tokens);

  const { read, written, written1h, unexplained: cache } = readCacheCounts(usage, 'responses');
  const unexplained = [...cache, ...unreadCounts(usage)];
  const reasoning = readCount(detailsOf(usage.output_tokens_details).reasoning_tokens) ?? 0;

  const servedOn = readTerms(response, ['serviceTier']);
  const images = imagesOf(response.tool_usage);

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const cachedInputTokens = Math.min(read, inputTotal);
  const writtenTotal = Math.min(written, inputTotal - cachedInputTokens);
  const cacheWrite1hTokens = Math.min(written1h, writtenTotal);
  return {
    ...noUsage,
    inputTokens: inputTotal - cachedInputTokens - writtenTotal,
    cachedInputTokens,
    cacheWriteTokens: writtenTotal - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: outputTotal,
    reasoningTokens: Math.min(reasoning, outputTotal),
    ...billedToolUses(response, usage, containerUse),
    serverToolUses: serverToolCalls(response.output).length,
    ...(servedOn && { servedOn }),
    ...(unexplained.length > 0 && { unexplained }),
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
