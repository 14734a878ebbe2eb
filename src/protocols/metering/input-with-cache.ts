import { isRecord } from '../../lib/json/json.ts';
import { readCacheCounts } from './cache-counts.ts';
import type { ReadResponse } from './response.ts';
import { readCount } from './usage-facts.ts';

/** Changes usage before it is read, for providers that deviate from the protocol. */
export type RestateUsage = (usage: unknown) => unknown;

/** Adds cache tokens to input and total, for providers of chat and responses that exclude them. */
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

export function restatedResponse(response: ReadResponse, restate: RestateUsage | undefined): ReadResponse {
  if (restate === undefined) return response;
  return {
    member: (name) => (name === 'usage' ? restate(response.member(name)) : response.member(name)),
    isMarked: (name) => response.isMarked(name),
    count: (name) => response.count(name),
    holding: (group) => response.holding(group),
  };
}
