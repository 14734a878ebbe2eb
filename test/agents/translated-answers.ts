import { event } from '../support/provider.ts';
import type { Turn } from './translated-wire.ts';

/** Answers of a scripted model, as providers of both protocols write them. */

export interface Answer {
  readonly events: readonly string[];
  readonly whole: object;
}

/** An answer of a chat provider. The arguments of several calls take turns, as they may. */
export function chatAnswer(turn: Turn, reportsUsage: boolean): Answer {
  const { call, model, usage, reasoning, text, uses } = turn;
  const head = { id: `chatcmpl-${call}`, created: 1_790_000_000, model };
  const total = {
    prompt_tokens: usage.input + usage.cached,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.cached + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  const finish_reason = uses.length === 0 ? 'stop' : 'tool_calls';
  const calls = uses.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  const chunk = (members: object): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
  const delta = (content: object, finish: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason: finish }] });
  const started = calls.map(({ id, function: { name } }, index) =>
    delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
  );
  const halves = calls.map(({ function: { arguments: args } }) => halvesOf(args));
  const pieces = [0, 1].flatMap((half) =>
    halves.map((each, index) => delta({ tool_calls: [{ index, function: { arguments: each[half] } }] })),
  );
  return {
    events: [
      delta({ role: 'assistant', content: null, reasoning_content: '' }),
      ...(reasoning === '' ? [] : halvesOf(reasoning)).map((half) => delta({ content: null, reasoning_content: half })),
      ...halvesOf(text).map((half) => delta({ content: half })),
      ...started,
      ...pieces,
      delta({ content: '' }, finish_reason),
      ...(reportsUsage ? [chunk({ choices: [], usage: total })] : []),
      'data: [DONE]\n\n',
    ],
    whole: {
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text,
            ...(reasoning !== '' && { reasoning_content: reasoning }),
            ...(calls.length > 0 && { tool_calls: calls }),
          },
          finish_reason,
        },
      ],
      usage: total,
    },
  };
}

/** An answer of a messages provider. */
export function messagesAnswer({ call, model, usage, reasoning, signature, text, uses }: Turn): Answer {
  const counted = {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cached,
    cache_creation_input_tokens: 0,
    output_tokens: usage.output,
  };
  const thinks = reasoning !== '';
  const first = thinks ? 1 : 0;
  const stop_reason = uses.length === 0 ? 'end_turn' : 'tool_use';
  const head = { id: `msg_${call}`, type: 'message', role: 'assistant', model, stop_sequence: null };
  const block = (index: number, content_block: object, ...deltas: readonly object[]): string[] => [
    event('content_block_start', { index, content_block }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
  return {
    events: [
      event('message_start', {
        message: { ...head, content: [], stop_reason: null, usage: { ...counted, output_tokens: 1 } },
      }),
      ...(thinks
        ? block(
            0,
            { type: 'thinking', thinking: '', signature: '' },
            ...halvesOf(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
            { type: 'signature_delta', signature },
          )
        : []),
      event('ping'),
      ...block(
        first,
        { type: 'text', text: '' },
        ...halvesOf(text).map((half) => ({ type: 'text_delta', text: half })),
      ),
      ...uses.flatMap(({ id, name, input }, index) =>
        block(
          first + 1 + index,
          { type: 'tool_use', id, name, input: {} },
          ...halvesOf(JSON.stringify(input)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
        ),
      ),
      event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: usage.output } }),
      event('message_stop'),
    ],
    whole: {
      ...head,
      content: [
        ...(thinks ? [{ type: 'thinking', thinking: reasoning, signature }] : []),
        { type: 'text', text },
        ...uses.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
      ],
      stop_reason,
      usage: counted,
    },
  };
}

/** Two chunks of a text. A character of four bytes stays whole, as JSON of real vendors keeps it. */
function halvesOf(text: string): readonly [string, string] {
  const characters = [...text];
  const middle = Math.ceil(characters.length / 2);
  return [characters.slice(0, middle).join(''), characters.slice(middle).join('')];
}
