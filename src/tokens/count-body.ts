import { isRecord } from '../lib/json.ts';
import { BodyCounter, isEmpty } from './body-counter.ts';
import { BUDGETS, type Count } from './budgets.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The two forms of a body: the responses form and the messages form. */
export type BodyKind = 'responses' | 'messages';

/**
 * Members of a body that steer the call and are no part of what the model reads. They count nothing, whatever is in
 * them. Members in neither of these lists nor read below count by their visible structure (contract 4.4, 4.7).
 */
export const CONTROL_FIELDS: Readonly<Record<BodyKind, ReadonlySet<string>>> = {
  responses: new Set([
    ...['model', 'stream', 'stream_options', 'store', 'background', 'metadata', 'client_metadata', 'user'],
    ...['safety_identifier', 'service_tier', 'include', 'truncation', 'max_output_tokens', 'max_tool_calls'],
    ...['temperature', 'top_p', 'top_logprobs', 'parallel_tool_calls', 'tool_choice', 'context_management'],
    ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
    ...['previous_response_id', 'conversation', 'prompt'],
  ]),
  messages: new Set([
    ...['model', 'stream', 'max_tokens', 'metadata', 'user_profile_id', 'service_tier', 'speed', 'inference_geo'],
    ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'tool_choice', 'cache_control', 'context_management'],
    ...['betas', 'fallbacks', 'diagnostics'],
  ]),
};

const REASONING_FIELDS = new Set(['effort', 'summary', 'generate_summary']);
const THINKING_FIELDS = new Set(['type', 'budget_tokens', 'display']);

/**
 * Most values that a body is parsed with. Real ones have some thousands; 64 MiB of `{},` would make 22 million objects, more
 * than a thread's heap holds, and a heap that overflows can end the whole process.
 */
export const VALUES_MAX = 1_000_000;

/**
 * Counts a body of valid JSON in UTF-8. It is parsed, and so belongs into the worker where it may be large. A body of more
 * than `VALUES_MAX` values counts as the text it is.
 */
export function countBody(kind: BodyKind, json: Buffer, tokenizer: Tokenizer): Count {
  const text = json.toString('utf8');
  if (hasMoreValues(json, VALUES_MAX)) return { textTokens: tokenizer.count(text), budgetTokens: 0 };
  const body: unknown = JSON.parse(text);
  const isResponses = kind === 'responses';
  const counter = new BodyCounter(tokenizer, (isResponses ? BUDGETS.image : BUDGETS.imageMessages).tokens);
  if (!isRecord(body)) counter.structure(body);
  else if (isResponses) countResponses(counter, body);
  else countMessages(counter, body);
  const { textTokens, budgetTokens } = counter;
  return { textTokens, budgetTokens };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** Counts what begins a value or comes before one, outside of strings: no more values than that and one. */
function hasMoreValues(json: Buffer, valuesMax: number): boolean {
  let values = 1;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) {
      isInString = true;
    } else if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      values++;
    }
  }
  return values > valuesMax;
}

function countResponses(counter: BodyCounter, body: Record<string, unknown>): void {
  counter.budget(BUDGETS.responsesBase.tokens);
  for (const [key, value] of Object.entries(body)) {
    if (CONTROL_FIELDS.responses.has(key) || isEmpty(value)) continue;
    if (key === 'instructions') {
      counter.budget(BUDGETS.responsesItem.tokens);
      counter.content(value);
    } else if (key === 'input') {
      countEach(counter, value, BUDGETS.responsesItem.tokens);
    } else if (key === 'tools') {
      counter.tools(value, BUDGETS.responsesTools.tokens, BUDGETS.responsesTool.tokens);
    } else if (key === 'reasoning') {
      counter.reasoning(value, REASONING_FIELDS);
    } else {
      counter.unknown(key, value);
    }
  }
}

function countMessages(counter: BodyCounter, body: Record<string, unknown>): void {
  counter.budget(BUDGETS.messagesBase.tokens);
  for (const [key, value] of Object.entries(body)) {
    if (CONTROL_FIELDS.messages.has(key) || isEmpty(value)) continue;
    if (key === 'system') {
      counter.content(value);
    } else if (key === 'messages') {
      countEach(counter, value, BUDGETS.messagesMessage.tokens);
    } else if (key === 'tools') {
      counter.tools(value, BUDGETS.messagesTools.tokens, BUDGETS.messagesTool.tokens);
    } else if (key === 'thinking') {
      if (!isRecord(value) || value.type !== 'disabled') counter.reasoning(value, THINKING_FIELDS);
    } else {
      counter.unknown(key, value);
    }
  }
}

/** Items or messages, each with its budget; what is no list is one of them. */
function countEach(counter: BodyCounter, value: unknown, eachTokens: number): void {
  for (const item of Array.isArray(value) ? value : [value]) {
    counter.budget(eachTokens);
    counter.content(item);
  }
}
