import { type Carrier, readCarrier } from './carriers.ts';
import type { CallBlock, Conversation, RawJson, ReasoningBlock, ResultBlock } from './conversation.ts';
import type { MessagesDialect } from './dialect.ts';
import { CallIds, messagesCallId, providerToolName } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { type AssistantTurn, type Content, type OrderedTurn, orderTurns } from './ordered-turns.ts';
import { fromRawText, objectOf, wrapped } from './raw-text.ts';
import { writeBlock } from './write-messages-block.ts';
import { WrittenObject } from './written-object.ts';

/** The provider, as far as turns depend on it. */
export interface MessagesSpeaker {
  readonly dialect: MessagesDialect;
  /** Hash of the provider, which marks its own reasoning. */
  readonly maker: string;
}

export interface WrittenTurns {
  readonly written: readonly string[];
  /** Whether the last turn is the beginning of an answer, which the model continues. */
  readonly isContinued: boolean;
  /** Whether the last turn of the assistant has calls, but does not begin with its thinking. */
  readonly lacksThinking: boolean;
}

type Role = 'user' | 'assistant' | 'system';

/** Stands before an answer with which a conversation begins, because the first turn must be the user's. */
const BEGINNING = '{"type":"text","text":"(The conversation begins.)"}';

/**
 * Writes the turns of a body for a messages provider. Adjacent turns of one role become one, because some providers require that roles alternate.
 * @throws GatewayError `invalidRequest` if messages cannot express content
 */
export function writeMessagesTurns(
  conversation: Conversation,
  target: MessagesSpeaker,
  notes: TranslationNotes,
): WrittenTurns {
  const writer = new TurnWriter(target, notes);
  const turns = orderTurns(conversation.turns, notes);
  if (turns.length === 0 && conversation.system.length === 0) notes.refuse(conversation.turnsPath, 'has no content');
  const roleOf = ({ role }: OrderedTurn): Role => (role === 'system' ? target.dialect.laterSystem : role);
  if (turns.length === 0 || roleOf(turns[0]!) !== 'user') {
    notes.add('user_message');
    writer.write('user', [BEGINNING]);
  }
  for (const turn of turns) {
    if (turn.role === 'assistant') writer.assistant(turn);
    else writer.write(roleOf(turn), writeContent(turn.blocks, notes));
  }
  const last = turns.at(-1);
  const isContinued = last?.role === 'assistant' && last.calls.length === 0;
  if (isContinued) checkContinued(last, notes);
  const answer = turns.findLast((turn) => turn.role === 'assistant');
  const lacksThinking = answer !== undefined && answer.calls.length > 0 && !beginsWithThinking(answer, target);
  return { written: writer.messages, isContinued, lacksThinking };
}

/** Vendors refuse to continue an answer that ends in white space. */
function checkContinued({ blocks, path }: AssistantTurn, notes: TranslationNotes): void {
  const end = blocks.findLast(({ kind }) => kind !== 'reasoning');
  if (end !== undefined && 'text' in end && /\s$/.test(fromRawText(end.text ?? ''))) {
    notes.refuse(path, 'is the beginning of an answer that ends in white space');
  }
}

function beginsWithThinking({ blocks: [first] }: AssistantTurn, target: MessagesSpeaker): boolean {
  if (first?.kind !== 'reasoning') return false;
  const own = ownCarrier(first.carrier, target);
  return own?.data !== undefined || own?.signature !== undefined;
}

class TurnWriter {
  readonly #target: MessagesSpeaker;
  readonly #notes: TranslationNotes;
  readonly #ids = new CallIds(messagesCallId);
  readonly #turns: { readonly role: Role; readonly content: string[] }[] = [];

  constructor(target: MessagesSpeaker, notes: TranslationNotes) {
    this.#target = target;
    this.#notes = notes;
  }

  get messages(): readonly string[] {
    return this.#turns.map(({ role, content }) => `{"role":"${role}","content":[${content.join(',')}]}`);
  }

  write(role: Role, content: readonly string[]): void {
    const last = this.#turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else this.#turns.push({ role, content: [...content] });
  }

  assistant({ blocks, calls, results }: AssistantTurn): void {
    const ids = new Map(calls.map((call) => [call, this.#ids.next(call.id)]));
    const content = blocks.flatMap((block): readonly string[] => {
      switch (block.kind) {
        case 'reasoning':
          return writeReasoning(block, this.#target, this.#notes);
        case 'call':
          return [writeCall(block, ids.get(block)!, this.#notes)];
        case 'media':
          return this.#notes.refuse(block.path, 'is an image that the assistant wrote');
        default:
          return [writeBlock({ cache: null, ...block, kind: 'text' })];
      }
    });
    this.write('assistant', content);
    if (results.length > 0)
      this.write(
        'user',
        results.map((result, index) => writeResult(result, ids.get(calls[index]!)!, this.#notes)),
      );
  }
}

/** The detail of an image has no place here. */
function writeContent(blocks: readonly Content[], notes: TranslationNotes): readonly string[] {
  return blocks.map((block) => {
    if (block.kind === 'media' && block.detail !== null) notes.leaveOut(`${block.path}.detail`);
    return writeBlock(block);
  });
}

/** Restores the provider's own blocks. What another provider wrote is left out, because only its maker accepts it. */
function writeReasoning(
  { text, carrier }: ReasoningBlock,
  target: MessagesSpeaker,
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

function ownCarrier(carrier: string | null, { maker }: MessagesSpeaker): Carrier | null {
  const read = carrier === null ? null : readCarrier(carrier);
  return read?.maker === maker ? read : null;
}

function writeCall(call: CallBlock, id: string, notes: TranslationNotes): string {
  const block = new WrittenObject();
  block.add('type', '"tool_use"');
  block.add('id', JSON.stringify(id));
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

function writeResult({ isError, content, cache }: ResultBlock, callId: string, notes: TranslationNotes): string {
  const block = new WrittenObject();
  block.add('type', '"tool_result"');
  block.add('tool_use_id', JSON.stringify(callId));
  if (content.length > 0) block.add('content', `[${writeContent(content, notes).join(',')}]`);
  if (isError) block.add('is_error', 'true');
  block.add('cache_control', cache);
  return block.toString();
}
