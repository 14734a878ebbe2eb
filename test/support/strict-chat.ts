import type { ChatDialect } from '../../src/protocols/translation/dialect.ts';
import {
  checkSchema,
  distinct,
  type Issued,
  type Json,
  list,
  matching,
  NAME,
  number,
  object,
  only,
  refusalOf,
  refuse,
  text,
  whole,
} from './strict-values.ts';

export interface StrictChat {
  /** What the provider accepts beyond the plain protocol. */
  readonly dialect: ChatDialect;
  /** Reasoning that the provider gave, by the ids of the calls of the same turn. It must come back unchanged. */
  readonly issued?: Issued;
}

/** Returns the refusal of a request in the words of a chat vendor that gives it; `null`: the request is acceptable. */
export function chatRefusal(body: unknown, { dialect, issued = new Map() }: StrictChat): string | null {
  return refusalOf(() => checkChat(object(body, 'body'), dialect, issued));
}

const MEMBERS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
];

const REASONING: Readonly<Record<ChatDialect['reasoning'], readonly string[]>> = {
  none: [],
  effort: ['reasoning_effort'],
  thinking: ['thinking'],
  enable_thinking: ['enable_thinking', 'thinking_budget'],
  openrouter: ['reasoning'],
  template: ['chat_template_kwargs'],
};

function checkChat(body: Json, dialect: ChatDialect, issued: Issued): void {
  const { takes, drops, maxTokens, reasoning } = dialect;
  only(body, 'body', [...MEMBERS, maxTokens, ...REASONING[reasoning], ...takes]);
  for (const name of drops)
    if (name in body) refuse(`Unsupported parameter: '${name}' is not supported with this model.`);
  text(body.model, 'model');
  if (body.stream_options !== undefined && body.stream !== true) refuse('stream_options: only allowed when streaming');
  number(body.temperature, 'temperature', 2);
  number(body.top_p, 'top_p', 1);
  if (body[maxTokens] !== undefined) whole(body[maxTokens], maxTokens);
  if (body.stop !== undefined) for (const each of list(body.stop, 'stop')) if (each === '') refuse('stop: is empty');
  const effort = body.reasoning_effort;
  if (effort !== undefined && !(dialect.efforts as readonly unknown[]).includes(effort))
    refuse('reasoning_effort: unknown');
  checkChatTools(body, takes);
  const messages = list(body.messages, 'messages').map((each, index) => object(each, `messages[${index}]`));
  for (const [index, message] of messages.entries()) checkChatMessage(message, index, dialect, issued);
  checkChatOrder(messages);
}

function checkChatTools(body: Json, takes: ReadonlySet<string>): void {
  if (body.tools === undefined) {
    for (const name of ['tool_choice', 'parallel_tool_calls']) {
      if (name in body) refuse(`Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`);
    }
    return;
  }
  const names = list(body.tools, 'tools').map((each, index) => {
    const tool = object(each, `tools[${index}]`);
    only(tool, `tools[${index}]`, ['type', 'function', ...(takes.has('cache_control') ? ['cache_control'] : [])]);
    const made = object(tool.function, `tools[${index}].function`);
    only(made, `tools[${index}].function`, [
      'name',
      'description',
      'parameters',
      ...(takes.has('strict') ? ['strict'] : []),
    ]);
    if (tool.type !== 'function') refuse(`Invalid value: tools[${index}].type`);
    checkSchema(made.parameters, `tools[${index}].function.parameters`);
    return matching(made.name, `tools[${index}].function.name`, NAME);
  });
  distinct(names, 'tools');
  const choice = body.tool_choice;
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const forced = object(object(choice, 'tool_choice').function, 'tool_choice.function').name;
  if (!names.includes(forced as string)) refuse(`Tool choice '${String(forced)}' not found in 'tools'.`);
}

function checkChatMessage(message: Json, index: number, dialect: ChatDialect, issued: Issued): void {
  const path = `messages[${index}]`;
  const { role, content } = message;
  const { replay, laterSystem, toolMedia, takes } = dialect;
  const takesParts = takes.has('cache_control');
  switch (role) {
    case 'system':
      only(message, path, ['role', 'content']);
      if (index > 0 && laterSystem !== 'system') refuse('System message must be at the beginning.');
      checkChatContent(content, `${path}.content`, takesParts, takesParts);
      return;
    case 'user':
      only(message, path, ['role', 'content']);
      checkChatContent(content, `${path}.content`, true, takesParts);
      return;
    case 'tool':
      only(message, path, ['role', 'content', 'tool_call_id']);
      checkChatContent(content, `${path}.content`, takesParts || toolMedia === 'tool', takesParts);
      return;
    case 'assistant':
      only(message, path, ['role', 'content', 'tool_calls', ...(replay === 'none' ? [] : [replay])]);
      if (content !== null || message.tool_calls === undefined) {
        checkChatContent(content, `${path}.content`, takesParts, takesParts);
      }
      if (message.tool_calls !== undefined) checkChatCalls(message, path, replay, issued);
      return;
    default:
      refuse(`Invalid value: '${String(role)}'. ${path}.role`);
  }
}

function checkChatContent(content: unknown, path: string, takesParts: boolean, takesCache: boolean): void {
  if (!Array.isArray(content) || !takesParts) {
    // White space alone is a text here, unlike at messages providers.
    if (typeof content !== 'string' || content === '') refuse(`${path}: must be a string that is not empty`);
    return;
  }
  for (const [index, each] of list(content, path).entries()) {
    const part = object(each, `${path}[${index}]`);
    const { type } = part;
    only(part, `${path}[${index}]`, ['type', String(type), ...(takesCache ? ['cache_control'] : [])]);
    if (type === 'text') text(part.text, `${path}[${index}].text`);
    else if (type === 'image_url') only(object(part.image_url, path), `${path}[${index}].image_url`, ['url', 'detail']);
    else if (type === 'file') only(object(part.file, path), `${path}[${index}].file`, ['filename', 'file_data']);
    else refuse(`Invalid value: ${path}[${index}].type`);
  }
}

function checkChatCalls(message: Json, path: string, replay: ChatDialect['replay'], issued: Issued): void {
  const ids = list(message.tool_calls, `${path}.tool_calls`).map((each, index) => {
    const at = `${path}.tool_calls[${index}]`;
    const call = object(each, at);
    only(call, at, ['id', 'type', 'function']);
    const made = object(call.function, `${at}.function`);
    only(made, `${at}.function`, ['name', 'arguments']);
    if (call.type !== 'function') refuse(`Invalid value: ${at}.type`);
    matching(made.name, `${at}.function.name`, NAME);
    text(made.arguments, `${at}.function.arguments`);
    const id = text(call.id, `${at}.id`);
    return id.length > 40
      ? refuse(`Invalid '${at}.id': string too long. Expected a string with maximum length 40`)
      : id;
  });
  distinct(ids, `${path}.tool_calls`);
  if (replay === 'none' || replay === 'reasoning_details') return;
  const given = ids.flatMap((id) => issued.get(id) ?? [])[0];
  const reasoning = message[replay];
  if (typeof reasoning !== 'string' || reasoning === '')
    refuse(`Missing \`${replay}\` field in the assistant message at ${path}`);
  if (given !== undefined && given !== reasoning) refuse(`The \`${replay}\` at ${path} was changed`);
}

/** Results stand right behind their calls, one for each. */
function checkChatOrder(messages: readonly Json[]): void {
  let open: string[] = [];
  for (const [index, { role, tool_calls, tool_call_id }] of messages.entries()) {
    if (role === 'tool') {
      if (!open.includes(tool_call_id as string)) {
        refuse(
          `messages[${index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`,
        );
      }
      open = open.filter((id) => id !== tool_call_id);
    } else {
      if (open.length > 0) refuse(`An assistant message with 'tool_calls' must be followed by tool messages: ${open}`);
      open = ((tool_calls ?? []) as readonly { id: string }[]).map(({ id }) => id);
    }
  }
  if (open.length > 0) refuse(`An assistant message with 'tool_calls' must be followed by tool messages: ${open}`);
}
