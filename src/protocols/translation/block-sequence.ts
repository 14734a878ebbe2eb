import {
  type AnswerBlocks,
  AnswerError,
  type AnswerHead,
  type EndReason,
  type OpaqueReasoning,
  reasonShown,
} from './answer.ts';
import type { RawText } from './conversation.ts';
import { JsonDepth } from './json-depth.ts';
import { CallIds, madeCallId } from './names.ts';
import { isBlank } from './raw-text.ts';

/** Maximum size of what waits until a call is complete. */
const WAITING_LENGTH_MAX = 1024 * 1024;

/** Size counted for each waiting block in addition to its text, so that many empty ones are limited too. */
const BLOCK_LENGTH = 64;

const CALLS_MAX = 4_096;

type TextKind = 'text' | 'reasoning' | 'refusal';

interface ToolCall {
  readonly kind: 'call';
  readonly index: number;
  id: string | null;
  name: string | null;
  /** Arguments that arrived before the call could begin. */
  early: RawText;
  isWaiting: boolean;
  /** Of all arguments that arrived. */
  readonly depth: JsonDepth;
  state: 'new' | 'open' | 'closed';
}

/** A text that waits. */
interface WaitingText {
  readonly kind: TextKind;
  text: RawText;
}

/**
 * Turns the deltas of a chat provider into blocks, of which one is open at a time. Other blocks wait in their order as long as the arguments of
 * the open call are incomplete; what arrives for a waiting block is added to it.
 */
export class BlockSequence {
  readonly #blocks: AnswerBlocks;
  readonly #ids: CallIds;
  readonly #calls: ToolCall[] = [];
  /** Parts of `reasoning_details` of the block. If they are too long, they do not come back with the next call. */
  #details: string[] = [];
  #detailsLength = 0;
  #open: TextKind | ToolCall | null = null;
  #waiting: (WaitingText | ToolCall)[] = [];
  #waitingLength = 0;
  #hasBegun = false;
  #hasEnded = false;
  #answerId: string | null = null;

  /** @param callIds ids of earlier calls in the conversation */
  constructor(blocks: AnswerBlocks, callIds: readonly string[]) {
    this.#blocks = blocks;
    this.#ids = new CallIds((id) => id, callIds);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Size of what waits. */
  get keptBytes(): number {
    return this.#waitingLength + this.#detailsLength;
  }

  begin(head: AnswerHead): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#answerId = head.id;
    this.#blocks.begin(head);
  }

  text(kind: TextKind, text: RawText): void {
    if (text === '' || this.#hasEnded) return;
    if (!this.#mustWait(kind)) {
      this.#writeText(kind, text);
      return;
    }
    const last = this.#waiting.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#wait({ kind, text });
    this.#count(text.length);
  }

  /** Collects parts of `reasoning_details`. They are of the reasoning that is open, or of the next that ends. */
  details(items: readonly string[]): void {
    for (const item of items) {
      this.#detailsLength += BLOCK_LENGTH + item.length;
      if (this.#detailsLength <= WAITING_LENGTH_MAX) this.#details.push(item);
      else this.#details = [];
    }
  }

  /**
   * @param index place of the call in the answer; `null`: not stated
   * @throws AnswerError if the arguments continue a call that has ended
   */
  call(index: number | null, id: string | null, name: string | null, args: RawText): void {
    if (this.#hasEnded) return;
    const call = this.#callOf(index, id || null, name || null, args);
    call.id ??= id || null;
    call.name ??= name || null;
    if (call.state === 'closed') {
      if (!isBlank(args)) throw new AnswerError('the arguments of a tool call continue after their end');
      return;
    }
    call.depth.add(args);
    // A call begins when its id and its name are known.
    const isKnown = call.id !== null && call.name !== null;
    if (call.state === 'new' && (!isKnown || this.#mustWait(call))) {
      if (isKnown && !call.isWaiting) this.#wait(call);
      call.early += args;
      this.#count(args.length);
      return;
    }
    if (call.state === 'new') this.#start(call);
    if (args !== '') this.#blocks.delta(args);
    this.#writeWaiting();
  }

  /** @throws AnswerError if a call has no name */
  end(reason: EndReason, stopSequence: RawText | null = null): void {
    if (this.#hasEnded) return;
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.kind === 'call') this.#start(waiting);
      else this.#writeText(waiting.kind, waiting.text);
    }
    for (const call of this.#calls) if (call.state === 'new') this.#start(call);
    this.#closeOpen();
    if (this.#details.length > 0) this.#startBlock('reasoning');
    this.#closeOpen();
    this.#hasEnded = true;
    this.#blocks.end(reasonShown(reason, this.#calls.length > 0), stopSequence);
  }

  /**
   * Finds a call by its index, or begins one. Some providers repeat an index for each call, or state none, or give empty ids: then a name with
   * arguments begins another call if those of the last one are complete.
   */
  #callOf(index: number | null, id: string | null, name: string | null, args: RawText): ToolCall {
    const same = index === null ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    if (same !== undefined && !isOther(same, { id, name, args })) return same;
    const place = index ?? this.#calls.length;
    if (this.#calls.length >= CALLS_MAX) throw new AnswerError('too many tool calls');
    const depth = new JsonDepth();
    const call: ToolCall = { kind: 'call', index: place, id, name, early: '', isWaiting: false, depth, state: 'new' };
    this.#calls.push(call);
    return call;
  }

  #wait(block: WaitingText | ToolCall): void {
    if (block.kind === 'call') block.isWaiting = true;
    this.#waiting.push(block);
    this.#count(BLOCK_LENGTH);
  }

  #count(length: number): void {
    this.#waitingLength += length;
    if (this.#waitingLength > WAITING_LENGTH_MAX)
      throw new AnswerError('too many parts of an answer wait for a tool call');
  }

  /** Whether another block is to be complete first. */
  #mustWait(block: TextKind | ToolCall): boolean {
    if (this.#waiting.length > 0) return true;
    const open = this.#open;
    return open !== null && typeof open === 'object' && open !== block && !open.depth.isComplete;
  }

  /** Writes waiting blocks up to the first call whose arguments are incomplete. */
  #writeWaiting(): void {
    while (this.#waiting.length > 0) {
      const open = this.#open;
      if (open !== null && typeof open === 'object' && !open.depth.isComplete) return;
      const block = this.#waiting.shift()!;
      this.#waitingLength -= BLOCK_LENGTH;
      if (block.kind === 'call') {
        this.#start(block);
      } else {
        this.#waitingLength -= block.text.length;
        this.#writeText(block.kind, block.text);
      }
    }
  }

  #writeText(kind: TextKind, text: RawText): void {
    if (this.#open !== kind) {
      this.#closeOpen();
      this.#startBlock(kind);
    }
    this.#blocks.delta(text);
  }

  #start(call: ToolCall): void {
    if (call.name === null) throw new AnswerError('a tool call has no name');
    this.#closeOpen();
    // Clients tell calls of a conversation by their ids, which some models repeat.
    const id = this.#ids.next(call.id ?? madeCallId(this.#answerId, this.#calls.indexOf(call) + 1));
    call.state = 'open';
    this.#open = call;
    this.#blocks.startCall(id, call.name);
    const { early } = call;
    call.early = '';
    this.#waitingLength -= early.length;
    if (early !== '') this.#blocks.delta(early);
  }

  #startBlock(kind: TextKind): void {
    this.#open = kind;
    if (kind === 'text') this.#blocks.startText();
    else if (kind === 'reasoning') this.#blocks.startReasoning();
    else this.#blocks.startRefusal();
  }

  #closeOpen(): void {
    const open = this.#open;
    if (open === null) return;
    if (typeof open === 'object') open.state = 'closed';
    let opaque: OpaqueReasoning | null = null;
    if (open === 'reasoning') {
      if (this.#details.length > 0) opaque = { details: this.#details };
      this.#details = [];
      this.#detailsLength = 0;
    }
    this.#open = null;
    this.#blocks.stop(opaque);
  }
}

/** Whether a delta with the index of a call is of another one. */
function isOther(
  call: ToolCall,
  { id, name, args }: { readonly id: string | null; readonly name: string | null; readonly args: RawText },
): boolean {
  if (name === null) return false;
  if (id !== null && call.id !== null) return id !== call.id;
  return call.name !== null && !isBlank(args) && call.depth.isComplete;
}
