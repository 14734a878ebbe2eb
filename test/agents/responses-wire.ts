import { event } from '../support/provider.ts';
import {
  type Conversation,
  type Events,
  FILE,
  fileOf,
  GREETING,
  pieces,
  type Said,
  textOf,
  type Wire,
} from './said.ts';

/** The responses protocol as Codex uses it: streams only. */
export const responsesWire: Wire = {
  read(body): Conversation {
    const { model, input, tools = [], stream } = body as ResponsesBody;
    return {
      model,
      parts: input.map(({ type, content, call_id = '', output }) =>
        type === 'function_call_output'
          ? { kind: 'result', id: call_id, text: textOf(output) }
          : { kind: 'text', text: textOf(content) },
      ),
      toolNames: tools.map(({ name = '' }) => name),
      isStream: stream === true,
    };
  },

  events(said): Events {
    const { call } = said;
    const item = itemOf(said);
    const thought = thoughtOf(said);
    const response = (status: string, rest: object) => ({
      response: { id: `resp_${call}`, object: 'response', status, ...rest },
    });
    const isTool = item.type === 'function_call';
    const [kind, content] = isTool
      ? ['response.function_call_arguments.delta', item.arguments]
      : ['response.output_text.delta', item.content[0].text];
    const place = { item_id: item.id, output_index: thought.length, ...(isTool ? {} : { content_index: 0 }) };
    const [first, second] = pieces(content).map((delta) => event(kind, { ...place, delta }));
    const inside = [
      event('response.created', response('in_progress', { output: [] })),
      ...thought.flatMap((item) => [
        event('response.output_item.added', { output_index: 0, item: { ...item, encrypted_content: '' } }),
        event('response.output_item.done', { output_index: 0, item }),
      ]),
      event('response.output_item.added', { output_index: thought.length, item: { ...item, status: 'in_progress' } }),
      first!,
    ];
    const behind = [...inside, second!, event('response.output_item.done', { output_index: thought.length, item })];
    const output = [...thought, item];
    const end = event('response.completed', response('completed', { output, usage: usageOf(said) }));
    return { inside, behind, all: [...behind, end] };
  },

  whole: (said) => ({
    id: `resp_${said.call}`,
    object: 'response',
    status: 'completed',
    output: [...thoughtOf(said), itemOf(said)],
    usage: usageOf(said),
  }),
};

interface ResponsesBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: string }[];
  readonly input: readonly Item[];
}

interface Item {
  readonly type: string;
  readonly content?: unknown;
  readonly call_id?: string;
  readonly output?: unknown;
}

function thoughtOf({ call, signature }: Said) {
  return signature === null
    ? []
    : [{ type: 'reasoning', id: `rs_${call}`, summary: [], encrypted_content: signature } as const];
}

/** The model's text, or a call of the shell in the form that the agent declares. */
function itemOf({ call, step, toolNames }: Said) {
  if (step.kind === 'say') {
    const content = [{ type: 'output_text', text: step.text, annotations: [] }] as const;
    return { type: 'message', id: `msg_${call}`, role: 'assistant', status: 'completed', content } as const;
  }
  if (!toolNames.includes('exec_command')) throw new Error(`Codex declares no exec_command: ${toolNames.join(', ')}`);
  const cmd = step.kind === 'write' ? `printf '%s\\n' '${GREETING.trim()}' > ${FILE}` : `cat ${fileOf(step)}`;
  return {
    type: 'function_call',
    id: `fc_${call}`,
    call_id: `call_${call}`,
    status: 'completed',
    name: 'exec_command',
    arguments: JSON.stringify({ cmd }),
  } as const;
}

function usageOf({ usage }: Said): object {
  const input_tokens = usage.input + usage.cached;
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + usage.output,
  };
}
