import { readCarrier } from './carriers.ts';
import type {
  CallBlock,
  Conversation,
  MediaBlock,
  RawJson,
  RawText,
  ReasoningBlock,
  ResultBlock,
  TextBlock,
  Tool,
  ToolChoice,
} from './conversation.ts';
import type { ChatDialect } from './dialect.ts';
import { providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { type AssistantTurn, type OrderedTurn, orderTurns } from './ordered-turns.ts';
import { quoted, toRawText } from './raw-text.ts';
import { descriptionOf, forcedTool, requireDistinct, schemaOf } from './tool-definition.ts';
import { writeChatReasoning } from './write-chat-reasoning.ts';
import { WrittenObject } from './written-object.ts';

export interface ChatTarget {
  /** The model as the client calls it. The operation replaces it by the provider's name. */
  readonly model: string;
  readonly dialect: ChatDialect;
  /** Hash of the provider, which marks its own reasoning. */
  readonly maker: string;
  /** Output limit of the model; `null`: unknown. */
  readonly outputTokensMax: number | null;
}

/**
 * Writes the body for a chat provider. The messages come last, so that a longer conversation begins with the bytes of the shorter one.
 * @throws GatewayError `invalidRequest` with the client's member if chat cannot express content or a guarantee
 */
export function writeChatRequest(conversation: Conversation, target: ChatTarget, notes: TranslationNotes): string {
  const { dialect } = target;
  const { tools, settings, isStream } = conversation;
  const body = new WrittenObject();
  body.add('model', JSON.stringify(target.model));
  if (isStream) body.add('stream', 'true');
  writeOutputLimit(body, conversation, target, notes);
  const optional = (name: string, path: string, value: RawJson | null): void => {
    if (value === null) return;
    if (dialect.drops.has(name)) notes.leaveOut(path);
    else body.add(name, value);
  };
  optional('temperature', 'temperature', settings.temperature);
  optional('top_p', 'top_p', settings.topP);
  optional('stop', 'stop_sequences', settings.stop.length === 0 ? null : `[${settings.stop.join(',')}]`);
  writeChatReasoning(body, settings.reasoning, dialect, notes);
  writeFormat(body, conversation, dialect, notes);
  for (const [name, { path, value }] of conversation.hints) {
    if (dialect.takes.has(name) && !dialect.drops.has(name)) body.add(name, value);
    else notes.leaveOut(path);
  }
  writeTools(body, conversation, dialect, notes);
  body.add('messages', `[${writeMessages(conversation, target, notes).join(',')}]`);
  requireDistinct(tools, notes);
  return body.toString();
}

function writeOutputLimit(
  body: WrittenObject,
  { settings: { outputTokens } }: Conversation,
  { dialect, outputTokensMax }: ChatTarget,
  notes: TranslationNotes,
): void {
  if (outputTokens === null) return;
  const { value, path } = outputTokens;
  const limit = Math.min(value, outputTokensMax ?? value);
  if (limit < value) notes.leaveOut(path);
  if (dialect.drops.has(dialect.maxTokens)) notes.leaveOut(path);
  else body.add(dialect.maxTokens, String(limit));
}

function writeFormat(
  body: WrittenObject,
  { settings: { format } }: Conversation,
  { takes }: ChatDialect,
  notes: TranslationNotes,
): void {
  if (format === null) return;
  if (format.type === 'object') {
    body.add('response_format', '{"type":"json_object"}');
    return;
  }
  if (!takes.has('json_schema')) notes.refuse(format.path, 'asks for output of a JSON schema');
  const schema = new WrittenObject();
  schema.add('name', `"${format.name}"`);
  schema.add('description', quoted(format.description));
  schema.add('schema', format.schema);
  schema.add('strict', String(format.strict ?? true));
  body.add('response_format', `{"type":"json_schema","json_schema":${schema}}`);
}

function writeTools(
  body: WrittenObject,
  { tools, toolChoice, parallelCalls }: Conversation,
  { takes }: ChatDialect,
  notes: TranslationNotes,
): void {
  if (tools.length === 0) {
    if (toolChoice !== null && toolChoice.type !== 'none') notes.leaveOut('tool_choice');
    return;
  }
  body.add('tools', `[${tools.map((tool) => writeTool(tool, takes, notes)).join(',')}]`);
  if (toolChoice !== null) body.add('tool_choice', writeToolChoice(toolChoice, tools, notes));
  if (parallelCalls === false) body.add('parallel_tool_calls', 'false');
}

function writeTool(tool: Tool, takes: ReadonlySet<string>, notes: TranslationNotes): string {
  const written = new WrittenObject();
  written.add('name', JSON.stringify(providerToolName(tool)));
  written.add('description', quoted(descriptionOf(tool)));
  written.add('parameters', schemaOf(tool));
  if (tool.strict !== null) {
    if (takes.has('strict')) written.add('strict', String(tool.strict));
    else notes.leaveOut(`${tool.path}.strict`);
  }
  const cache = tool.cache === null || !takes.has('cache_control') ? '' : `,"cache_control":${tool.cache}`;
  if (tool.cache !== null && cache === '') notes.leaveOut('tools[].cache_control');
  return `{"type":"function","function":${written}${cache}}`;
}

function writeToolChoice(choice: ToolChoice, tools: readonly Tool[], notes: TranslationNotes): RawJson {
  if (choice.type !== 'tool') return JSON.stringify(choice.type);
  const tool = forcedTool(choice, tools, notes);
  return `{"type":"function","function":{"name":${JSON.stringify(providerToolName(tool))}}}`;
}

function writeMessages(conversation: Conversation, target: ChatTarget, notes: TranslationNotes): readonly string[] {
  const { system, settings } = conversation;
  const writer = new MessageWriter(target, settings.reasoning.isOn !== false, notes);
  const turns = orderTurns(conversation.turns, notes);
  const last = turns.at(-1);
  if (last?.role === 'assistant' && last.calls.length === 0) {
    notes.refuse(last.path, 'is the beginning of an answer, which the model would have to continue');
  }
  if (system.length > 0) writer.system(system);
  for (const turn of turns) writer.turn(turn);
  return writer.messages;
}

/** Fixed text where the provider requires reasoning that nobody has. */
const NO_REASONING = 'The reasoning of this turn is not available.';
const NO_OUTPUT = '(no output)';

class MessageWriter {
  readonly messages: string[] = [];
  readonly #target: ChatTarget;
  readonly #reasons: boolean;
  readonly #notes: TranslationNotes;

  constructor(target: ChatTarget, reasons: boolean, notes: TranslationNotes) {
    this.#target = target;
    this.#reasons = reasons;
    this.#notes = notes;
  }

  system(blocks: readonly TextBlock[]): void {
    this.#write('system', this.#content(blocks, '\\n\\n'));
  }

  turn(turn: OrderedTurn): void {
    if (turn.role === 'assistant') {
      this.#assistant(turn);
      return;
    }
    const role = turn.role === 'system' ? this.#target.dialect.laterSystem : 'user';
    this.#write(role, this.#content(turn.blocks));
  }

  #write(role: string, content: RawJson): void {
    this.messages.push(`{"role":"${role}","content":${content}}`);
  }

  #assistant({ blocks, calls, results }: AssistantTurn): void {
    const message = new WrittenObject();
    message.add('role', '"assistant"');
    const texts = blocks.flatMap((block) => {
      if (block.kind === 'text') return [block];
      if (block.kind === 'refusal') return [{ kind: 'text', text: block.text, cache: null } as const];
      if (block.kind === 'media') this.#notes.refuse(block.path, 'is an image that the assistant wrote');
      return [];
    });
    const hasText = texts.some(({ text }) => text !== '');
    message.add('content', hasText ? this.#content(texts) : calls.length > 0 ? 'null' : '""');
    const reasoning = blocks.filter((block) => block.kind === 'reasoning');
    this.#replay(message, reasoning, calls.length > 0);
    if (calls.length > 0) message.add('tool_calls', `[${calls.map(writeCall).join(',')}]`);
    this.messages.push(message.toString());
    for (const result of results) this.#result(result);
    this.#mediaOf(results);
  }

  #result({ callId, isError, content }: ResultBlock): void {
    const { toolMedia } = this.#target.dialect;
    const blocks = toolMedia === 'tool' ? content : content.filter(({ kind }) => kind === 'text');
    const shown: (TextBlock | MediaBlock)[] = blocks.filter((block) => block.kind !== 'text' || block.text !== '');
    if (shown.length === 0) {
      const text = content.length > 0 && content.some(({ kind }) => kind === 'media') ? IN_NEXT_MESSAGE : NO_OUTPUT;
      shown.push({ kind: 'text', text, cache: null });
    }
    if (isError) {
      const [first] = shown;
      const isText = first?.kind === 'text';
      const words: TextBlock = {
        kind: 'text',
        text: isText ? `Error: ${first.text}` : 'Error',
        cache: isText ? first.cache : null,
      };
      shown.splice(0, isText ? 1 : 0, words);
    }
    this.messages.push(`{"role":"tool","tool_call_id":${JSON.stringify(callId)},"content":${this.#content(shown)}}`);
  }

  /** Media in results, for providers whose results are texts only: one user message behind all results. */
  #mediaOf(results: readonly ResultBlock[]): void {
    if (this.#target.dialect.toolMedia === 'tool') return;
    const blocks = results.flatMap(({ callId, content }): readonly (TextBlock | MediaBlock)[] => {
      const media = content.filter(({ kind }) => kind === 'media');
      if (media.length === 0) return [];
      const label = toRawText(`Files in the result of the call ${callId}:`);
      return [{ kind: 'text', text: label, cache: null }, ...media];
    });
    if (blocks.length > 0) this.#write('user', this.#content(blocks));
  }

  /** Writes blocks as one string; as a list of parts if one of them is no text, or has a `cache_control` that the provider takes. */
  #content(blocks: readonly (TextBlock | MediaBlock)[], separator = '\\n'): RawJson {
    const takesCache = this.#target.dialect.takes.has('cache_control');
    if (!takesCache && blocks.some(({ cache }) => cache !== null))
      this.#notes.leaveOut('messages[].content[].cache_control');
    const filled = blocks.filter((block) => block.kind !== 'text' || block.text !== '');
    if (filled.every((block) => block.kind === 'text' && (!takesCache || block.cache === null))) {
      return `"${filled.map((block) => (block.kind === 'text' ? block.text : '')).join(separator)}"`;
    }
    return `[${filled.map((block) => this.#part(block, takesCache)).join(',')}]`;
  }

  #part(block: TextBlock | MediaBlock, takesCache: boolean): RawJson {
    const part = new WrittenObject();
    if (block.kind === 'text') {
      part.add('type', '"text"');
      part.add('text', `"${block.text}"`);
    } else if (block.type === 'image') {
      part.add('type', '"image_url"');
      const detail = block.detail === null ? '' : `,"detail":${block.detail}`;
      part.add('image_url', `{"url":"${urlOf(block)}"${detail}}`);
    } else {
      part.add('type', '"file"');
      part.add('file', `{"filename":"${block.name ?? 'document.pdf'}","file_data":"${urlOf(block)}"}`);
    }
    if (takesCache) part.add('cache_control', block.cache);
    return part.toString();
  }

  /** Writes earlier reasoning into the member in which the provider wants it back. */
  #replay(message: WrittenObject, blocks: readonly ReasoningBlock[], hasCalls: boolean): void {
    const { dialect, maker } = this.#target;
    if (dialect.replay === 'none') {
      if (blocks.length > 0) this.#notes.leaveOut('messages[].content[].thinking');
      return;
    }
    const carriers = blocks.map(({ carrier }) => (carrier === null ? null : readCarrier(carrier)));
    if (dialect.replay === 'reasoning_details') {
      const details = carriers.flatMap((carrier) => (carrier?.maker === maker ? (carrier.details ?? []) : []));
      if (details.length > 0) message.add('reasoning_details', joinedArrays(details));
      else if (blocks.length > 0) this.#notes.leaveOut('messages[].content[].thinking');
      return;
    }
    const texts = blocks.flatMap(({ text }, index): readonly RawText[] => {
      if (text !== null) return [text];
      const hidden = carriers[index]?.text;
      return hidden === undefined ? [] : [toRawText(hidden)];
    });
    if (texts.length > 0) message.add(dialect.replay, `"${texts.join('\\n')}"`);
    else if (hasCalls && this.#reasons) {
      this.#notes.add(dialect.replay);
      message.add(dialect.replay, `"${NO_REASONING}"`);
    }
  }
}

const IN_NEXT_MESSAGE = 'The result is in the next message.';

/** The array text of several arrays' items. */
function joinedArrays(arrays: readonly RawJson[]): RawJson {
  const items = arrays.map((array) => array.trim().slice(1, -1).trim()).filter((inside) => inside !== '');
  return `[${items.join(',')}]`;
}

function writeCall(call: CallBlock): RawJson {
  const { id, input, form } = call;
  const sent = form === 'custom' ? JSON.stringify({ input }) : input;
  const name = JSON.stringify(providerToolName(call));
  return `{"id":${JSON.stringify(id)},"type":"function","function":{"name":${name},"arguments":${JSON.stringify(sent)}}}`;
}

function urlOf({ source }: MediaBlock): RawText {
  if ('url' in source) return source.url;
  return `data:${toRawText(source.mediaType)};base64,${source.base64}`;
}
