import type { Form } from './bodies.ts';

/** The events of a provider's stream. */
interface StreamForm {
  begin(): string;
  delta(text: string): string;
  /** Usage, then the final event, as providers do. */
  end(): string;
}

const CHAT_HEAD = {
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'bench-upstream',
};

function chatEvent(choices: readonly object[], usage: object | null = null): string {
  return `data: ${JSON.stringify({ ...CHAT_HEAD, choices, usage })}\n\n`;
}

function typedEvent(type: string, rest: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
}

const chat: StreamForm = {
  begin: () => chatEvent([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  delta: (content) => chatEvent([{ index: 0, delta: { content }, finish_reason: null }]),
  end() {
    const usage = { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 };
    return `${chatEvent([{ index: 0, delta: {}, finish_reason: 'stop' }])}${chatEvent([], usage)}data: [DONE]\n\n`;
  },
};

const messages: StreamForm = {
  begin() {
    const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench-upstream', content: [] };
    const usage = { input_tokens: 200, output_tokens: 1 };
    const start = typedEvent('message_start', {
      message: { ...message, stop_reason: null, stop_sequence: null, usage },
    });
    return start + typedEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  },
  delta: (text) => typedEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end() {
    const delta = { stop_reason: 'end_turn', stop_sequence: null };
    const stop = typedEvent('content_block_stop', { index: 0 });
    return stop + typedEvent('message_delta', { delta, usage: { output_tokens: 100 } }) + typedEvent('message_stop');
  },
};

/** Providers of the bench are asked for chat and messages. */
export const streamForms: Readonly<Record<Form, StreamForm>> = { chat, messages, responses: chat };
