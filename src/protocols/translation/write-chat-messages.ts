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
} from './conversation.ts';
import type { ChatDialect } from './dialect.ts';
import { CallIds, chatCallId, providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { type AssistantTurn, filledTexts, type OrderedTurn, orderTurns } from './ordered-turns.ts';
import { toRawText } from './raw-text.ts';
import { WrittenObject } from './written-object.ts';

/** The provider, as far as messages depend on it. */
export interface ChatSpeaker {
  readonly dialect: ChatDialect;
  /** Hash of the provider, which marks its own reasoning. */
  readonly maker: string;
}

/**
 * Writes the messages of a body for a chat provider.
 * @throws GatewayError `invalidRequest` if chat cannot express content
 */
export function writeChatMessages(
  conversation: Conversation,
  target: ChatSpeaker,
  notes: TranslationNotes,
): readonly string[] {
  const { system } = conversation;
  const writer = new MessageWriter(target, notes);
  const turns = orderTurns(conversation.turns, notes);
  const last = turns.at(-1);
  if (last?.role === 'assistant' && last.calls.length === 0) {
    notes.refuse(last.path, 'is the beginning of an answer, which the model would have to continue');
  }
  const filled = filledTexts(system, notes);
  if (filled.length > 0) writer.system(filled);
  for (const turn of turns) writer.turn(turn);
  if (writer.messages.length === 0) notes.refuse(conversation.turnsPath, 'has no content');
  return writer.messages;
}

/** Fixed text where the provider requires reasoning that nobody has. */
const NO_REASONING = 'The reasoning of this turn is not available.';
const NO_OUTPUT = '(no output)';

class MessageWriter {
  readonly messages: string[] = [];
  readonly #target: ChatSpeaker;
  readonly #notes: TranslationNotes;
  readonly #ids = new CallIds(chatCallId);

  constructor(target: ChatSpeaker, notes: TranslationNotes) {
    this.#target = target;
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
    message.add('content', texts.length > 0 ? this.#content(texts) : 'null');
    const reasoning = blocks.filter((block) => block.kind === 'reasoning');
    this.#replay(message, reasoning, calls.length > 0);
    const ids = calls.map(({ id }) => this.#ids.next(id));
    if (calls.some(({ cache }) => cache !== null)) this.#notes.leaveOut('messages[].content[].cache_control');
    if (calls.length > 0)
      message.add('tool_calls', `[${calls.map((call, index) => writeCall(call, ids[index]!)).join(',')}]`);
    this.messages.push(message.toString());
    const ofCalls = results.map((result, index) => ({ ...result, callId: ids[index]! }));
    for (const result of ofCalls) this.#result(result);
    this.#mediaOf(ofCalls);
  }

  #result({ callId, isError, content, cache }: ResultBlock): void {
    const { toolMedia } = this.#target.dialect;
    const blocks = toolMedia === 'tool' ? content : content.filter(({ kind }) => kind === 'text');
    const shown = [...blocks];
    if (shown.length === 0) {
      const text = content.length > 0 ? IN_NEXT_MESSAGE : NO_OUTPUT;
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
    // A result has no mark of its own here, so its last block takes it.
    const last = shown.pop()!;
    if (cache !== null && last.cache !== null) this.#notes.leaveOut('messages[].content[].cache_control');
    shown.push({ ...last, cache: last.cache ?? cache });
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
    if (blocks.every((block) => block.kind === 'text' && (!takesCache || block.cache === null))) {
      return `"${blocks.map((block) => (block.kind === 'text' ? block.text : '')).join(separator)}"`;
    }
    return `[${blocks.map((block) => this.#part(block, takesCache)).join(',')}]`;
  }

  #part(block: TextBlock | MediaBlock, takesCache: boolean): RawJson {
    const part = new WrittenObject();
    if (block.kind === 'text') {
      part.add('type', '"text"');
      part.add('text', `"${block.text}"`);
    } else if (block.type === 'image') {
      part.add('type', '"image_url"');
      const detail = DETAILS.find((known) => known === block.detail);
      if (detail === undefined && block.detail !== null) this.#notes.leaveOut(`${block.path}.detail`);
      part.add('image_url', `{"url":"${urlOf(block)}"${detail === undefined ? '' : `,"detail":${detail}`}}`);
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
    // The provider's own reasoning is restored as it was, though a client may have it in several parts.
    const isOwn = carriers.every((carrier) => carrier?.maker === maker);
    if (texts.length > 0) message.add(dialect.replay, `"${texts.join(isOwn ? '' : '\\n')}"`);
    else if (hasCalls) {
      this.#notes.add(dialect.replay);
      message.add(dialect.replay, `"${NO_REASONING}"`);
    }
  }
}

/** Values of `detail` that chat providers know. Codex also sends `original`. */
const DETAILS = ['"auto"', '"low"', '"high"'];
const IN_NEXT_MESSAGE = 'The result is in the next message.';

/** The array text of several arrays' items. */
function joinedArrays(arrays: readonly RawJson[]): RawJson {
  const items = arrays.map((array) => array.trim().slice(1, -1).trim()).filter((inside) => inside !== '');
  return `[${items.join(',')}]`;
}

function writeCall(call: CallBlock, id: string): RawJson {
  const { input, form } = call;
  // Servers that parse arguments refuse an empty text.
  const sent = form === 'custom' ? JSON.stringify({ input }) : input.trim() === '' ? '{}' : input;
  const name = JSON.stringify(providerToolName(call));
  return `{"id":${JSON.stringify(id)},"type":"function","function":{"name":${name},"arguments":${JSON.stringify(sent)}}}`;
}

function urlOf({ source }: MediaBlock): RawText {
  if ('url' in source) return source.url;
  return `data:${toRawText(source.mediaType)};base64,${source.base64}`;
}
