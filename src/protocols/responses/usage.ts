import { isRecord } from '../../lib/json/json.ts';
import { readImageUsage } from '../images/usage.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { roundsShown, usesShown } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import { DOUBTFUL_TOTAL, unstatedTokens } from '../metering/stated-totals.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
import { type ModelUsage, noUsage, readCount, type Usage } from '../metering/usage-facts.ts';
import { billedToolUses, type ContainerUse, NO_CONTAINERS, roundsOf } from './tool-uses.ts';

export interface ResponsesUsageContext {
  readonly containerUse?: ContainerUse;
  readonly outputTokensMax?: number;
}

/**
 * Reads responses usage. Input and output tokens include cached, written and reasoning tokens, except at providers that include these only
 * in `total_tokens`. Cache writes that last 12 hours count as `cacheWrite1hTokens`, all others as `cacheWriteTokens`.
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

  // A detail may not exceed its total, so that no token counts twice.
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

export const IMAGE_MODEL = 'image_generation';

/** Returns the usage of the model behind the image tool, which the usage of the response excludes. */
function imagesOf(toolUsage: unknown): ModelUsage | null {
  const usage = readImageUsage(detailsOf(toolUsage).image_gen);
  return usage === null || usage.inputTokens + usage.imageInputTokens + usage.imageOutputTokens === 0
    ? null
    : { model: IMAGE_MODEL, isInside: false, usage };
}

function detailsOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
