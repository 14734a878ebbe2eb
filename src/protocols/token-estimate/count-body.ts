import { isRecord } from '../../lib/json/json.ts';
import { BodyCounter, isEmpty } from './body-counter.ts';
import { BUDGETS, type Count, TRANSLATED_BUDGETS } from './budgets.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Format of a body. Chat has the budgets of responses. */
export type BodyKind = 'responses' | 'messages' | 'chat';

/** Members that the model does not read. Others without a rule below count by their visible structure (contract 4.4, 4.7). */
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
  chat: new Set([
    ...['model', 'stream', 'stream_options', 'store', 'metadata', 'user', 'safety_identifier', 'service_tier'],
    ...['max_tokens', 'max_completion_tokens', 'n', 'best_of', 'temperature', 'top_p', 'top_k', 'seed', 'stop'],
    ...['logit_bias', 'logprobs', 'top_logprobs', 'presence_penalty', 'frequency_penalty', 'reasoning_effort'],
    ...['verbosity', 'modalities', 'audio', 'parallel_tool_calls', 'tool_choice', 'function_call', 'moderation'],
    ...['prediction', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  ]),
};

const REASONING_FIELDS = new Set(['effort', 'summary', 'generate_summary']);
const THINKING_FIELDS = new Set(['type', 'budget_tokens', 'display']);

/** Version of the estimator, in the header `x-gateway-token-estimate` (contract 4.4). */
export const ESTIMATOR_VERSION = 'o200k-heuristic-v2';

/**
 * Counts the input tokens of a body: visible text with the o200k vocabulary; structure, images and files by budgets. The body must be JSON
 * within the limits of `scanJson`. It is parsed, so large bodies must be counted in another thread.
 */
export function countBody(kind: BodyKind, json: Buffer, tokenizer: Tokenizer): Count {
  const body: unknown = JSON.parse(json.toString('utf8'));
  const { imageTokens, baseTokens, members } = FORMS[kind];
  const counter = new BodyCounter(tokenizer, imageTokens);
  if (isRecord(body)) {
    counter.budget(baseTokens, TRANSLATED_BUDGETS.base);
    for (const [key, value] of Object.entries(body)) {
      if (CONTROL_FIELDS[kind].has(key) || isEmpty(value)) continue;
      const count = members.get(key);
      if (count === undefined) counter.unknown(key, value);
      else count(counter, value);
    }
  } else {
    counter.structure(body);
  }
  const { textTokens, budgetTokens, translatedBudgetTokens } = counter;
  return { textTokens, budgetTokens, translatedBudgetTokens };
}

type CountMember = (counter: BodyCounter, value: unknown) => void;

interface Form {
  readonly imageTokens: number;
  readonly baseTokens: number;
  readonly members: ReadonlyMap<string, CountMember>;
}

const responsesTools: CountMember = (counter, value) =>
  counter.tools(value, BUDGETS.responsesTools.tokens, BUDGETS.responsesTool.tokens);

const FORMS: Readonly<Record<BodyKind, Form>> = {
  responses: {
    imageTokens: BUDGETS.image.tokens,
    baseTokens: BUDGETS.responsesBase.tokens,
    members: new Map<string, CountMember>([
      [
        'instructions',
        (counter, value) => {
          counter.budget(BUDGETS.responsesItem.tokens, TRANSLATED_BUDGETS.instructions);
          counter.content(value);
        },
      ],
      ['input', eachWith(BUDGETS.responsesItem.tokens)],
      ['tools', responsesTools],
      ['reasoning', (counter, value) => counter.reasoning(value, REASONING_FIELDS)],
    ]),
  },
  messages: {
    imageTokens: BUDGETS.imageMessages.tokens,
    baseTokens: BUDGETS.messagesBase.tokens,
    members: new Map<string, CountMember>([
      [
        'system',
        (counter, value) => {
          counter.budget(0, TRANSLATED_BUDGETS.instructions);
          counter.content(value);
        },
      ],
      ['messages', eachWith(BUDGETS.messagesMessage.tokens)],
      ['tools', (counter, value) => counter.tools(value, BUDGETS.messagesTools.tokens, BUDGETS.messagesTool.tokens)],
      [
        'thinking',
        (counter, value) => {
          if (!isRecord(value) || value.type !== 'disabled') counter.reasoning(value, THINKING_FIELDS);
        },
      ],
    ]),
  },
  chat: {
    imageTokens: BUDGETS.image.tokens,
    baseTokens: BUDGETS.responsesBase.tokens,
    members: new Map<string, CountMember>([
      ['messages', eachWith(BUDGETS.responsesItem.tokens)],
      ['tools', responsesTools],
      ['functions', responsesTools],
    ]),
  },
};

/** Returns a function that counts items or messages, with `tokens` for each. A value that is not a list is one item. */
function eachWith(tokens: number): CountMember {
  return (counter, value) => {
    for (const item of Array.isArray(value) ? value : [value]) {
      counter.budget(tokens, TRANSLATED_BUDGETS.item);
      counter.content(item);
    }
  };
}
