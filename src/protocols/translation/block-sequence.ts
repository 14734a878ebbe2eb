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

/** Maximum size of what waits until a call is complete. */
const WAITING_LENGTH_MAX = 1024 * 1024;

type TextKind = 'text' | 'reasoning' | 'refusal';

interface ToolCall {
  readonly kind: 'call';
  readonly index: number;
  id: string | null;
  name: string | null;
  /** Arguments that arrived before the call could begin. */
  early: RawText;
  readonly depth: JsonDepth;
  state: 'new' | 'open' | 'closed';
}

/** A piece that waits: text, or arguments of a call. */
interface Piece {
  readonly of: TextKind | ToolCall;
  readonly text: RawText;
}

/**
 * Turns the deltas of a chat provider into blocks, of which one is open at a time. What belongs to another block waits as long as the
 * arguments of the open call are incomplete.
 */
export class BlockSequence {
  readonly #blocks: AnswerBlocks;
  readonly #calls: ToolCall[] = [];
  readonly #details: string[] = [];
  #open: TextKind | ToolCall | null = null;
  #waiting: Piece[] = [];
  #waitingLength = 0;
  #hasBegun = false;
  #hasEnded = false;
  #answerId: string | null = null;

  constructor(blocks: AnswerBlocks) {
    this.#blocks = blocks;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  begin(head: AnswerHead): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#answerId = head.id;
    this.#blocks.begin(head);
  }

  text(kind: TextKind, text: RawText): void {
    if (text !== '' && !this.#hasEnded) this.#take({ of: kind, text });
  }

  /** Collects parts of `reasoning_details`. They are of the reasoning that is open, or of the next that ends. */
  details(items: readonly string[]): void {
    this.#details.push(...items);
    this.#waitingLength += items.reduce((sum, { length }) => sum + length, 0);
    this.#checkWaiting();
  }

  /**
   * @param index place of the call in the answer; `null`: not stated
   * @throws AnswerError if the arguments continue a call that has ended
   */
  call(index: number | null, id: string | null, name: string | null, args: RawText): void {
    if (this.#hasEnded) return;
    const call = this.#callOf(index, id || null, name || null);
    call.id ??= id || null;
    call.name ??= name || null;
    if (call.state === 'closed') {
      if (args.trim() !== '') throw new AnswerError('the arguments of a tool call continue after their end');
      return;
    }
    this.#take({ of: call, text: args });
  }

  /** @throws AnswerError if a call has no name */
  end(reason: EndReason, stopSequence: RawText | null = null): void {
    if (this.#hasEnded) return;
    this.#closeOpen();
    for (let piece = this.#waiting.shift(); piece !== undefined; piece = this.#waiting.shift()) this.#write(piece);
    this.#closeOpen();
    for (const call of this.#calls) if (call.state === 'new') this.#start(call);
    this.#closeOpen();
    if (this.#details.length > 0) this.#startBlock('reasoning');
    this.#closeOpen();
    this.#hasEnded = true;
    this.#blocks.end(reasonShown(reason, this.#calls.length > 0), stopSequence);
  }

  /** Finds a call by its index, or begins one. Some providers repeat an index for each call, or state none. */
  #callOf(index: number | null, id: string | null, name: string | null): ToolCall {
    const same = index === null ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index);
    const isOther = same !== undefined && id !== null && same.id !== null && id !== same.id && name !== null;
    if (same !== undefined && !isOther) return same;
    const place = index ?? this.#calls.length;
    const call: ToolCall = { kind: 'call', index: place, id, name, early: '', depth: new JsonDepth(), state: 'new' };
    this.#calls.push(call);
    return call;
  }

  #take(piece: Piece): void {
    if (this.#mustWait(piece.of)) {
      this.#waiting.push(piece);
      this.#waitingLength += piece.text.length;
      this.#checkWaiting();
      return;
    }
    this.#write(piece);
    this.#writeWaiting();
  }

  /** Whether the open block is a call whose arguments are incomplete, and the piece is of another block. */
  #mustWait(of: TextKind | ToolCall): boolean {
    if (this.#waiting.length > 0 && of !== this.#open) return true;
    const open = this.#open;
    return open !== null && typeof open === 'object' && open !== of && !open.depth.isComplete;
  }

  #writeWaiting(): void {
    while (this.#waiting.length > 0) {
      const open = this.#open;
      if (open !== null && typeof open === 'object' && !open.depth.isComplete && this.#waiting[0]!.of !== open) return;
      const piece = this.#waiting.shift()!;
      this.#waitingLength -= piece.text.length;
      this.#write(piece);
    }
  }

  #checkWaiting(): void {
    if (this.#waitingLength > WAITING_LENGTH_MAX)
      throw new AnswerError('too many parts of an answer wait for a tool call');
  }

  #write({ of, text }: Piece): void {
    if (typeof of !== 'object') {
      if (this.#open !== of) {
        this.#closeOpen();
        this.#startBlock(of);
      }
      this.#blocks.delta(text);
      return;
    }
    if (of.state === 'closed') throw new AnswerError('the arguments of a tool call continue after their end');
    if (of.state === 'new') {
      // A call begins when its id and its name are known.
      if (of.name === null || of.id === null) {
        of.early += text;
        this.#waitingLength += text.length;
        this.#checkWaiting();
        return;
      }
      this.#closeOpen();
      this.#start(of);
    }
    if (text === '') return;
    of.depth.add(text);
    this.#blocks.delta(text);
  }

  #start(call: ToolCall): void {
    if (call.name === null) throw new AnswerError('a tool call has no name');
    this.#closeOpen();
    call.id ??= `call_${this.#answerId ?? ''}_${call.index}`.replace(NO_ID, '_');
    call.state = 'open';
    this.#open = call;
    this.#blocks.startCall(call.id, call.name);
    const { early } = call;
    call.early = '';
    if (early === '') return;
    call.depth.add(early);
    this.#blocks.delta(early);
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
    if (open === 'reasoning' && this.#details.length > 0) opaque = { details: this.#details.splice(0) };
    this.#open = null;
    this.#blocks.stop(opaque);
  }
}

const NO_ID = /[^a-zA-Z0-9_-]/g;
