import { isRecord } from '../../lib/json/json.ts';
import { readCacheCounts } from './cache-counts.ts';
import type { ReadResponse } from './response.ts';
import { readCount } from './usage-facts.ts';

/** Restates a usage object before it is read, for a provider whose figures mean something else than those of the protocol. */
export type RestateUsage = (usage: unknown) => unknown;

/**
 * Restates the usage of a provider whose input leaves out the tokens of the cache, in chat and responses: these become part of the
 * input, and of a total that leaves them out too. What lacks a count is left as it is.
 */
export function inputWithCache(usage: unknown): unknown {
  if (!isRecord(usage)) return usage;
  const isChat = usage.prompt_tokens !== undefined;
  const [input, output] = isChat ? ['prompt_tokens', 'completion_tokens'] : ['input_tokens', 'output_tokens'];
  const stated = readCount(usage[input!]);
  if (stated == null) return usage;
  const { read, written } = readCacheCounts(usage, isChat ? 'chat' : 'responses');
  const inputTokens = stated + read + written;
  const total = readCount(usage.total_tokens);
  const sum = inputTokens + (readCount(usage[output!]) ?? 0);
  return { ...usage, [input!]: inputTokens, ...(total != null && { total_tokens: Math.max(total, sum) }) };
}

/** A response as it is read if its usage is restated. */
export function restatedResponse(response: ReadResponse, restate: RestateUsage | undefined): ReadResponse {
  if (restate === undefined) return response;
  return {
    member: (name) => (name === 'usage' ? restate(response.member(name)) : response.member(name)),
    isMarked: (name) => response.isMarked(name),
    count: (name) => response.count(name),
    holding: (group) => response.holding(group),
  };
}
