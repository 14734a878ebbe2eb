import { event } from '../support/provider.ts';
import {
  type Conversation,
  type Events,
  fileOf,
  GREETING,
  type Part,
  pieces,
  type Said,
  textOf,
  type Wire,
} from './said.ts';

/** The messages protocol as Claude Code uses it: a stream, or a non-streaming message after a failed stream. */
export const messagesWire: Wire = {
  read(body): Conversation {
    const { model, messages, tools = [], stream } = body as MessagesBody;
    return {
      model,
      parts: messages
        .flatMap(({ content }): readonly Block[] =>
          typeof content === 'string' ? [{ type: 'text', text: content }] : content,
        )
        .flatMap(({ type, text = '', tool_use_id = '', content }): Part[] => {
          if (type === 'tool_result') return [{ kind: 'result', id: tool_use_id, text: textOf(content) }];
          return type === 'text' ? [{ kind: 'text', text }] : [];
        }),
      toolNames: tools.map(({ name }) => name),
      isStream: stream === true,
    };
  },

  events(said): Events {
    const block = blockOf(said);
    const { content: _, ...head } = message(said);
    const thought = thoughtOf(said);
    const index = thought.length;
    const isTool = block.type === 'tool_use';
    const empty = isTool ? { ...block, input: {} } : { ...block, text: '' };
    const [first, second] = pieces(isTool ? JSON.stringify(block.input) : block.text).map((piece) =>
      event('content_block_delta', {
        index,
        delta: isTool ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece },
      }),
    );
    const inside = [
      event('message_start', {
        message: { ...head, content: [], stop_reason: null, usage: { ...head.usage, output_tokens: 1 } },
      }),
      ...thought.flatMap((block) => [
        event('content_block_start', { index: 0, content_block: { ...block, thinking: '', signature: '' } }),
        event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: block.thinking } }),
        event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: block.signature } }),
        event('content_block_stop', { index: 0 }),
      ]),
      event('content_block_start', { index, content_block: empty }),
      event('ping'),
      first!,
    ];
    const behind = [...inside, second!, event('content_block_stop', { index })];
    const end = [
      event('message_delta', {
        delta: { stop_reason: head.stop_reason, stop_sequence: null },
        usage: { output_tokens: said.usage.output },
      }),
      event('message_stop'),
    ];
    return { inside, behind, all: [...behind, ...end] };
  },

  whole: message,
};

interface MessagesBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly content: string | readonly Block[] }[];
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly tool_use_id?: string;
  readonly content?: unknown;
}

function message(said: Said) {
  const { call, step, usage, model } = said;
  return {
    id: `msg_${call}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [...thoughtOf(said), blockOf(said)],
    stop_reason: step.kind === 'say' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: usage.input,
      cache_read_input_tokens: usage.cached,
      cache_creation_input_tokens: 0,
      output_tokens: usage.output,
    },
  };
}

function thoughtOf({ signature }: Said) {
  return signature === null ? [] : [{ type: 'thinking', thinking: 'Hm.', signature } as const];
}

/** The model's text, or a call of a tool that the agent declares. */
function blockOf({ call, step, directory, toolNames }: Said) {
  if (step.kind === 'say') return { type: 'text', text: step.text } as const;
  const name = step.kind === 'write' ? 'Write' : 'Read';
  if (!toolNames.includes(name)) throw new Error(`Claude Code declares no ${name}: ${toolNames.join(', ')}`);
  const file_path = `${directory}/${fileOf(step)}`;
  const input = step.kind === 'write' ? { file_path, content: GREETING } : { file_path };
  return { type: 'tool_use', id: `toolu_${call}`, name, input } as const;
}
