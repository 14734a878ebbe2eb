import { chatCompletion, chatStream, event, message, messagesStream } from '../../support/provider.ts';
import type { Used } from './models.ts';

/** The provider's output in the format of each API. */
export interface Wire {
  whole(words: readonly string[], used: Used): object;
  /** All events of a stream, including the one that ends the output and the one with the usage. */
  stream(words: readonly string[], used: Used): string[];
  /** Identifies the event that ends the output; no earlier event contains it. */
  readonly outputEnd: string;
  /** Identifies the event with the usage; no later event contains it. */
  readonly usageEvent: string;
}

const chat: Wire = {
  whole: (words, used) => chatCompletion(chatUsageOf(used), words.join('')),
  stream: (words, used) => chatStream(words, chatUsageOf(used)),
  outputEnd: '"finish_reason":"stop"',
  usageEvent: '"choices":[],',
};

const responses: Wire = {
  whole: (words, used) => responseOf(words, used, 'completed'),
  stream(words, used) {
    const done = responseOf(words, used, 'completed');
    const begun = { ...done, status: 'in_progress', output: [], usage: null };
    const [item] = done.output;
    const place = { item_id: item!.id, output_index: 0, content_index: 0 };
    const events: [string, object][] = [
      ['response.created', { response: begun }],
      ['response.output_item.added', { output_index: 0, item: { ...item!, status: 'in_progress', content: [] } }],
      ...words.map((delta): [string, object] => ['response.output_text.delta', { ...place, delta, logprobs: [] }]),
      ['response.output_text.done', { ...place, text: words.join(''), logprobs: [] }],
      ['response.output_item.done', { output_index: 0, item }],
      ['response.completed', { response: done }],
    ];
    return events.map(([type, data], sequence_number) => event(type, { sequence_number, ...data }));
  },
  outputEnd: 'response.output_item.done',
  usageEvent: 'response.completed',
};

const messages: Wire = {
  whole: (words, used) => message(messagesUsageOf(used), words.join('')),
  stream: (words, used) => messagesStream(words, messagesUsageOf(used)),
  outputEnd: 'content_block_stop',
  usageEvent: 'message_delta',
};

export function wireOf(path: string): Wire {
  if (path.endsWith('/messages')) return messages;
  return path.endsWith('/responses') ? responses : chat;
}

export function chatUsageOf({ inputTokens, outputTokens, reasoningTokens }: Used) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

function messagesUsageOf({ inputTokens, outputTokens }: Used) {
  return { input_tokens: inputTokens, output_tokens: outputTokens };
}

function responsesUsageOf({ inputTokens, outputTokens, reasoningTokens }: Used) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

/** State at a provider has its own id. */
let lastId = 0;

export function responseOf(words: readonly string[], used: Used, status: 'completed' | 'incomplete') {
  lastId++;
  const content = [{ type: 'output_text', text: words.join(''), annotations: [], logprobs: [] }];
  return {
    id: `resp_scene_${lastId}`,
    object: 'response',
    created_at: 1_790_000_000,
    status,
    error: null,
    incomplete_details: null,
    model: 'scene',
    output: [{ type: 'message', id: `msg_scene_${lastId}`, role: 'assistant', status: 'completed', content }],
    previous_response_id: null,
    usage: responsesUsageOf(used),
  };
}

export function compactionOf(used: Used) {
  lastId++;
  return {
    id: `resp_scene_${lastId}`,
    object: 'response.compaction',
    created_at: 1_790_000_000,
    output: [{ id: `cmp_scene_${lastId}`, type: 'compaction', encrypted_content: `opaque-${lastId}` }],
    usage: responsesUsageOf(used),
  };
}
