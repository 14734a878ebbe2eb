import { isRecord } from '../../lib/json.ts';
import { noUsage, readCount, type Usage, wholeOutput } from '../metering/usage-facts.ts';

/**
 * Usage facts of the responses protocol. `input_tokens` and `output_tokens` are totals: cached, written and reasoning
 * tokens are inside them. Details that are missing count 0; totals that are missing make the facts unusable.
 *
 * Writes are counted apart by lifetime, 30 minutes and 12 hours. There are two prices for writes, a short-lived and a
 * long-lived one, so those of 12 hours count as `cacheWrite1hTokens`, and all others as `cacheWriteTokens`.
 *
 * How often tools were run shows in the output alone.
 */
export function readResponsesUsage(usage: unknown, output?: unknown): Usage | null {
  if (!isRecord(usage)) return null;
  const inputTotal = readCount(usage.input_tokens);
  const stated = readCount(usage.output_tokens);
  if (inputTotal == null || stated == null) return null;
  const outputTotal = wholeOutput(inputTotal, stated, usage.total_tokens);

  const inputDetails = detailsOf(usage.input_tokens_details);
  const lifetimes = detailsOf(inputDetails.cache_write_tokens_details);
  const shortLived = readCount(lifetimes.ttl_30m_tokens) ?? 0;
  const longLived = readCount(lifetimes.ttl_12h_tokens) ?? 0;
  const cached = readCount(inputDetails.cached_tokens) ?? 0;
  const written = readCount(inputDetails.cache_write_tokens) ?? shortLived + longLived;
  const reasoning = readCount(detailsOf(usage.output_tokens_details).reasoning_tokens) ?? 0;

  // A detail cannot exceed the total that it is part of; a provider that reports more must not make a token count
  // twice.
  const cachedInputTokens = Math.min(cached, inputTotal);
  const writtenTotal = Math.min(written, inputTotal - cachedInputTokens);
  const cacheWrite1hTokens = Math.min(longLived, writtenTotal);
  return {
    ...noUsage,
    inputTokens: inputTotal - cachedInputTokens - writtenTotal,
    cachedInputTokens,
    cacheWriteTokens: writtenTotal - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: outputTotal,
    reasoningTokens: Math.min(reasoning, outputTotal),
    serverToolUses: countServerToolCalls(output),
  };
}

function detailsOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Tool calls that the caller runs itself, with the result in its next request. */
const CLIENT_CALLS: readonly unknown[] = [
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
];

function countServerToolCalls(output: unknown): number {
  if (!Array.isArray(output)) return 0;
  return output.filter(
    (item: unknown) =>
      isRecord(item) &&
      typeof item.type === 'string' &&
      item.type.endsWith('_call') &&
      !CLIENT_CALLS.includes(item.type),
  ).length;
}
