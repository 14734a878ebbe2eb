import type { MessagesDialect } from '../../src/protocols/translation/dialect.ts';
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

export interface StrictMessages {
  /** What the provider accepts beyond the plain protocol. */
  readonly dialect: MessagesDialect;
  /** Thinking that the provider gave, by signature; `redacted_thinking` by its data. Others are invalid. */
  readonly issued?: Issued;
}

/** Returns the refusal of a request in the words of a messages vendor that gives it; `null`: the request is acceptable. */
export function messagesRefusal(body: unknown, { dialect, issued = new Map() }: StrictMessages): string | null {
  return refusalOf(() => checkMessages(object(body, 'body'), dialect, issued));
}

const ID = /^[a-zA-Z0-9_-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const MEMBERS = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'metadata',
  'cache_control',
];

function checkMessages(body: Json, dialect: MessagesDialect, issued: Issued): void {
  only(body, 'body', [...MEMBERS, ...dialect.takes]);
  for (const name of dialect.drops) if (name in body) refuse(`${name}: is not supported with this model.`);
  text(body.model, 'model');
  const limit = whole(body.max_tokens, 'max_tokens');
  number(body.temperature, 'temperature', 1);
  number(body.top_p, 'top_p', 1);
  if (body.stop_sequences !== undefined) {
    for (const each of list(body.stop_sequences, 'stop_sequences')) text(each, 'stop_sequences: each stop sequence');
  }
  if (body.metadata !== undefined) {
    only(object(body.metadata, 'metadata'), 'metadata', ['user_id']);
    text((body.metadata as Json).user_id, 'metadata.user_id');
  }
  const marks = JSON.stringify(body).split('"cache_control":').length - 1;
  if (marks > 4) refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
  if (body.system !== undefined) checkBlocks(body.system, 'system', ['text']);
  const isForced = checkMessagesTools(body);
  const thinks = checkThinking(body, dialect, limit, isForced);
  const messages = list(body.messages, 'messages').map((each, index) => object(each, `messages.${index}`));
  checkTurns(messages, dialect, issued);
  if (thinks !== 'enabled') return;
  const last = messages.findLast(({ role }) => role === 'assistant')?.content as readonly Json[] | undefined;
  if (last?.some(({ type }) => type === 'tool_use') && !/thinking$/.test(String(last[0]!.type))) {
    refuse('Expected `thinking` or `redacted_thinking`: a final `assistant` message must start with a thinking block.');
  }
}

function checkThinking(body: Json, { thinking, efforts }: MessagesDialect, limit: number, isForced: boolean): unknown {
  const effort = body.output_config === undefined ? undefined : object(body.output_config, 'output_config').effort;
  if (effort !== undefined && !(efforts as readonly unknown[]).includes(effort))
    refuse('output_config.effort: unknown');
  if (body.thinking === undefined) return 'absent';
  const { type, budget_tokens: budget } = object(body.thinking, 'thinking');
  if (type === 'disabled') return type;
  if (type !== (thinking === 'adaptive' ? 'adaptive' : 'enabled') || thinking === 'none')
    refuse(`thinking.type: ${String(type)}`);
  if (type === 'enabled' && whole(budget, 'thinking.budget_tokens') < 1_024)
    refuse('thinking.budget_tokens: less than 1024');
  if (type === 'enabled' && (budget as number) >= limit)
    refuse('`max_tokens` must be greater than `thinking.budget_tokens`.');
  if (isForced) refuse('Thinking may not be enabled when tool_choice forces tool use.');
  for (const name of ['temperature', 'top_k', 'top_p']) {
    if (name in body) refuse(`\`${name}\` may not be set when thinking is enabled.`);
  }
  return type;
}

/** Returns whether the model is forced to call a tool. */
function checkMessagesTools(body: Json): boolean {
  if (body.tools === undefined)
    return body.tool_choice === undefined ? false : refuse('tool_choice: may only be specified while providing tools.');
  const names = list(body.tools, 'tools').map((each, index) => {
    const tool = object(each, `tools.${index}`);
    only(tool, `tools.${index}`, ['name', 'description', 'input_schema', 'cache_control', 'strict']);
    checkSchema(tool.input_schema, `tools.${index}.input_schema`);
    return matching(tool.name, `tools.${index}.name`, NAME);
  });
  distinct(names, 'tools: Tool');
  if (body.tool_choice === undefined) return false;
  const { type, name } = object(body.tool_choice, 'tool_choice');
  if (type === 'tool' && !names.includes(name as string)) refuse(`Tool '${String(name)}' not found in provided tools`);
  if (!['auto', 'any', 'none', 'tool'].includes(type as string)) refuse('tool_choice.type: unknown');
  return type === 'any' || type === 'tool';
}

const BLOCKS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['source'],
  document: ['source', 'title'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name', 'input'],
  tool_result: ['tool_use_id', 'content', 'is_error'],
};

function checkBlocks(content: unknown, path: string, types: readonly string[]): readonly Json[] {
  return list(content, path).map((each, index) => {
    const at = `${path}.${index}`;
    const block = object(each, at);
    const type = String(block.type);
    if (!types.includes(type))
      refuse(`${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`);
    const isThinking = type.endsWith('thinking');
    only(block, `${at}.${type}`, ['type', ...BLOCKS[type]!, ...(isThinking ? [] : ['cache_control'])]);
    if (type === 'text') text(block.text, at);
    if (type === 'image' || type === 'document') checkSource(object(block.source, `${at}.source`), `${at}.source`);
    if (type === 'tool_use') object(block.input, `${at}.tool_use.input`);
    if (type === 'tool_result' && block.content !== undefined) {
      checkBlocks(block.content, `${at}.content`, ['text', 'image', 'document']);
    }
    return block;
  });
}

function checkSource(source: Json, path: string): void {
  if (source.type === 'url') matching(source.url, `${path}.url`, /^https?:\/\//);
  else if (source.type === 'base64') matching(source.data, `${path}.data`, BASE64);
  else refuse(`${path}.type: unknown`);
}

function checkTurns(messages: readonly Json[], { laterSystem }: MessagesDialect, issued: Issued): void {
  const ids: string[] = [];
  let open: readonly string[] = [];
  let before = '';
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`;
    only(message, path, ['role', 'content']);
    const role = String(message.role);
    if (role !== 'user' && role !== 'assistant' && (role !== 'system' || laterSystem !== 'system')) {
      refuse(`${path}: Unexpected role "${role}". Use the top-level \`system\` parameter.`);
    }
    if (index === 0 && role !== 'user') refuse('messages: first message must use the "user" role');
    if (role === before) refuse('messages: roles must alternate between "user" and "assistant"');
    before = role;
    const isOfUser = role !== 'assistant';
    const types = isOfUser
      ? ['text', 'image', 'document', 'tool_result']
      : ['text', 'thinking', 'redacted_thinking', 'tool_use'];
    const blocks = checkBlocks(message.content, `${path}.content`, types);
    const results = blocks.filter(({ type }) => type === 'tool_result').map((block) => block.tool_use_id as string);
    const isInFront = blocks.slice(0, results.length).every(({ type }) => type === 'tool_result');
    if (!isInFront || results.length !== open.length || results.some((id) => !open.includes(id))) {
      refuse(
        `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after, or the other way round`,
      );
    }
    for (const { type, thinking, signature, data } of blocks) {
      if (type === 'thinking' && issued.get(signature as string) !== thinking)
        refuse(`${path}: Invalid \`signature\` in \`thinking\` block`);
      if (type === 'redacted_thinking' && !issued.has(data as string))
        refuse(`${path}: Invalid \`data\` in \`redacted_thinking\` block`);
    }
    open = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => matching(id, `${path}.tool_use.id`, ID));
    ids.push(...open);
  }
  distinct(ids, 'messages: `tool_use`');
  if (open.length > 0) refuse('messages: `tool_use` ids were found without `tool_result` blocks immediately after');
  const last = messages.at(-1)!;
  const end = (last.content as readonly Json[]).at(-1)!;
  if (last.role === 'assistant' && /\s$/.test(String(end.text))) {
    refuse('messages: final assistant content cannot end with trailing whitespace');
  }
}
