import { type Carrier, readCarrier } from './carriers.ts';
import type {
  CallBlock,
  Conversation,
  MediaBlock,
  RawJson,
  ReasoningBlock,
  ResultBlock,
  TextBlock,
  Tool,
} from './conversation.ts';
import type { Effort, MessagesDialect } from './dialect.ts';
import { providerCallId, providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { type AssistantTurn, type OrderedTurn, orderTurns } from './ordered-turns.ts';
import { objectOf, quoted, wrapped } from './raw-text.ts';
import { descriptionOf, forcedTool, requireDistinct, schemaOf } from './tool-definition.ts';
import { writeMessagesReasoning } from './write-messages-reasoning.ts';
import { WrittenObject } from './written-object.ts';

export interface MessagesTarget {
  /** The model as the client calls it. The operation replaces it by the provider's name. */
  readonly model: string;
  readonly dialect: MessagesDialect;
  readonly maker: string;
  /** Output limit of the model, which messages providers require. */
  readonly outputTokensMax: number;
}

/**
 * Writes the body for a messages provider. The messages come last, so that a longer conversation begins with the bytes of the shorter one.
 * @throws GatewayError `invalidRequest` with the client's member if messages cannot express content or a guarantee
 */
export function writeMessagesRequest(
  conversation: Conversation,
  target: MessagesTarget,
  notes: TranslationNotes,
): string {
  const { dialect, outputTokensMax } = target;
  const { settings, system, tools, isStream } = conversation;
  const body = new WrittenObject();
  const asked = settings.outputTokens;
  const limit = Math.min(asked?.value ?? outputTokensMax, outputTokensMax);
  if (asked !== null && limit < asked.value) notes.leaveOut(asked.path);
  const turns = orderTurns(conversation.turns, notes);
  const written = turns.map((turn) => writeTurn(turn, target, notes));
  const lacksThinking = isUnsignedLoop(turns, target);
  body.add('model', JSON.stringify(target.model));
  if (isStream) body.add('stream', 'true');
  body.add('max_tokens', String(limit));
  const { thinks, effort } = writeMessagesReasoning(body, settings.reasoning, { dialect, limit, lacksThinking }, notes);
  writeSampling(body, conversation, { dialect, thinks }, notes);
  writeOutput(body, conversation, effort, notes);
  writeHints(body, conversation, dialect, notes);
  writeTools(body, conversation, notes);
  if (system.length > 0) body.add('system', systemOf(system));
  body.add('messages', `[${written.flat().join(',')}]`);
  requireDistinct(tools, notes);
  return body.toString();
}

function writeSampling(
  body: WrittenObject,
  { settings }: Conversation,
  { dialect, thinks }: { readonly dialect: MessagesDialect; readonly thinks: boolean },
  notes: TranslationNotes,
): void {
  const { temperature, topP, stop } = settings;
  // Providers that think accept no other temperature.
  const samples = (name: string, value: RawJson | null): void => {
    if (value === null) return;
    if (thinks || dialect.drops.has(name)) notes.leaveOut(name);
    else body.add(name, Number(value) > 1 ? '1' : value);
  };
  samples('temperature', temperature);
  samples('top_p', topP);
  if (stop.length === 0) return;
  if (dialect.drops.has('stop_sequences')) notes.leaveOut('stop');
  else body.add('stop_sequences', `[${stop.join(',')}]`);
}

function writeOutput(
  body: WrittenObject,
  { settings: { format } }: Conversation,
  effort: Effort | null,
  notes: TranslationNotes,
): void {
  if (format?.type === 'object') notes.refuse(format.path, 'asks for JSON without a schema');
  const output = new WrittenObject();
  output.add('effort', effort === null ? null : JSON.stringify(effort));
  output.add('format', format === null ? null : `{"type":"json_schema","schema":${format.schema}}`);
  if (!output.isEmpty) body.add('output_config', output.toString());
}

function writeHints(
  body: WrittenObject,
  { hints, turns }: Conversation,
  { takes, drops, promptCache }: MessagesDialect,
  notes: TranslationNotes,
): void {
  for (const [name, { path, value }] of hints) {
    if (name === 'user' && takes.has('user')) body.add('metadata', `{"user_id":${value}}`);
    else if (takes.has(name) && !drops.has(name)) body.add(name, value);
    else if (name !== 'prompt_cache_key' || promptCache === 'off') notes.leaveOut(path);
  }
  const isConversation = hints.has('prompt_cache_key') || turns.some(({ role }) => role === 'assistant');
  if (promptCache !== 'auto' || !isConversation) return;
  notes.add('cache_control');
  body.add('cache_control', '{"type":"ephemeral"}');
}

function writeTools(
  body: WrittenObject,
  { tools, toolChoice, parallelCalls }: Conversation,
  notes: TranslationNotes,
): void {
  if (tools.length === 0) {
    if (toolChoice !== null && toolChoice.type !== 'none') notes.leaveOut('tool_choice');
    return;
  }
  body.add('tools', `[${tools.map((tool) => writeTool(tool, notes)).join(',')}]`);
  const serial = parallelCalls === false ? ',"disable_parallel_tool_use":true' : '';
  if (toolChoice === null) {
    if (serial !== '') body.add('tool_choice', `{"type":"auto"${serial}}`);
    return;
  }
  if (toolChoice.type !== 'tool') {
    const type = toolChoice.type === 'required' ? 'any' : toolChoice.type;
    body.add('tool_choice', `{"type":"${type}"${type === 'none' ? '' : serial}}`);
    return;
  }
  const tool = forcedTool(toolChoice, tools, notes);
  body.add('tool_choice', `{"type":"tool","name":${JSON.stringify(providerToolName(tool))}${serial}}`);
}

function writeTool(tool: Tool, notes: TranslationNotes): string {
  const written = new WrittenObject();
  written.add('name', JSON.stringify(providerToolName(tool)));
  written.add('description', quoted(descriptionOf(tool)));
  written.add('input_schema', schemaOf(tool));
  written.add('cache_control', tool.cache);
  if (tool.strict !== null) notes.leaveOut(`${tool.path}.strict`);
  return written.toString();
}

function systemOf(blocks: readonly TextBlock[]): RawJson {
  const filled = blocks.filter(({ text }) => text !== '');
  return `[${filled.map((block) => writeBlock(block)).join(',')}]`;
}

function writeTurn(turn: OrderedTurn, target: MessagesTarget, notes: TranslationNotes): readonly string[] {
  if (turn.role === 'assistant') return writeAssistant(turn, target, notes);
  const blocks = turn.blocks.filter((block) => block.kind !== 'text' || block.text !== '');
  if (blocks.length === 0) return [];
  const role = turn.role === 'system' ? target.dialect.laterSystem : 'user';
  return [
    message(
      role,
      blocks.map((block) => writeBlock(block)),
    ),
  ];
}

function writeAssistant(
  { blocks, calls, results }: AssistantTurn,
  target: MessagesTarget,
  notes: TranslationNotes,
): readonly string[] {
  const content: string[] = [];
  for (const block of blocks) {
    if (block.kind === 'reasoning') content.push(...writeReasoning(block, target, notes));
    else if (block.kind === 'media') notes.refuse(block.path, 'is an image that the assistant wrote');
    else if (block.text !== '') content.push(writeBlock({ cache: null, ...block, kind: 'text' }));
  }
  for (const call of calls) content.push(writeCall(call, notes));
  const written = content.length === 0 ? [] : [message('assistant', content)];
  if (results.length > 0) written.push(message('user', results.map(writeResult)));
  return written;
}

function message(role: string, content: readonly string[]): string {
  return `{"role":"${role}","content":[${content.join(',')}]}`;
}

/** Restores the provider's own blocks. What another provider wrote is left out, because only its maker accepts it. */
function writeReasoning(
  { text, carrier }: ReasoningBlock,
  target: MessagesTarget,
  notes: TranslationNotes,
): readonly string[] {
  const own = ownCarrier(carrier, target);
  if (own?.data !== undefined) return [`{"type":"redacted_thinking","data":${JSON.stringify(own.data)}}`];
  if (own?.signature !== undefined) {
    const thinking = own.text === undefined ? `"${text ?? ''}"` : JSON.stringify(own.text);
    return [`{"type":"thinking","thinking":${thinking},"signature":${JSON.stringify(own.signature)}}`];
  }
  notes.leaveOut('reasoning');
  return [];
}

function ownCarrier(carrier: string | null, { maker }: MessagesTarget): Carrier | null {
  const read = carrier === null ? null : readCarrier(carrier);
  return read?.maker === maker ? read : null;
}

/** Whether the conversation is within a tool loop whose thinking is not there. With a budget, the provider would refuse it. */
function isUnsignedLoop(turns: readonly OrderedTurn[], target: MessagesTarget): boolean {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || last.calls.length === 0) return false;
  return !last.blocks.some((block) => {
    if (block.kind !== 'reasoning') return false;
    const own = ownCarrier(block.carrier, target);
    return own?.data !== undefined || own?.signature !== undefined;
  });
}

function writeCall(call: CallBlock, notes: TranslationNotes): string {
  const block = new WrittenObject();
  block.add('type', '"tool_use"');
  block.add('id', JSON.stringify(providerCallId(call.id)));
  block.add('name', JSON.stringify(providerToolName(call)));
  block.add('input', inputOf(call, notes));
  block.add('cache_control', call.cache);
  return block.toString();
}

function inputOf({ form, input }: CallBlock, notes: TranslationNotes): RawJson {
  if (form === 'custom') return JSON.stringify({ input });
  const object = objectOf(input);
  if (object === null) notes.add('tool_use.input');
  return object ?? wrapped(input);
}

function writeResult({ callId, isError, content, cache }: ResultBlock): string {
  const block = new WrittenObject();
  const filled = content.filter((each) => each.kind !== 'text' || each.text !== '');
  block.add('type', '"tool_result"');
  block.add('tool_use_id', JSON.stringify(providerCallId(callId)));
  if (filled.length > 0) block.add('content', `[${filled.map((each) => writeBlock(each)).join(',')}]`);
  if (isError) block.add('is_error', 'true');
  block.add('cache_control', cache);
  return block.toString();
}

function writeBlock(block: TextBlock | MediaBlock): string {
  const written = new WrittenObject();
  if (block.kind === 'text') {
    written.add('type', '"text"');
    written.add('text', `"${block.text}"`);
  } else {
    written.add('type', block.type === 'image' ? '"image"' : '"document"');
    written.add('source', writeSource(block));
    written.add('title', block.type === 'pdf' && block.name !== null ? `"${block.name}"` : null);
  }
  written.add('cache_control', block.cache);
  return written.toString();
}

function writeSource({ source }: MediaBlock): RawJson {
  if ('url' in source) return `{"type":"url","url":${quoted(source.url)}}`;
  return `{"type":"base64","media_type":${JSON.stringify(source.mediaType)},"data":${quoted(source.base64)}}`;
}
