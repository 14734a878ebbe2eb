import type { AnswerBlocks, AnswerHead, EndReason, OpaqueReasoning } from './answer.ts';
import type { RawText } from './conversation.ts';

export interface CollectedBlock {
  readonly kind: 'text' | 'reasoning' | 'refusal' | 'call';
  readonly text: RawText;
  /** Only of calls. The name is the one at the provider. */
  readonly call: { readonly id: string; readonly name: string } | null;
  /** Only of reasoning. */
  readonly opaque: OpaqueReasoning | null;
}

/** The blocks of a whole answer. */
export class CollectedAnswer implements AnswerBlocks {
  readonly blocks: CollectedBlock[] = [];
  head: AnswerHead = { id: null };
  reason: EndReason = 'stop';
  stopSequence: RawText | null = null;
  #open: Pick<CollectedBlock, 'kind' | 'call'> = { kind: 'text', call: null };
  #parts: RawText[] = [];

  begin(head: AnswerHead): void {
    this.head = head;
  }

  startText(): void {
    this.#open = { kind: 'text', call: null };
  }

  startReasoning(): void {
    this.#open = { kind: 'reasoning', call: null };
  }

  startRefusal(): void {
    this.#open = { kind: 'refusal', call: null };
  }

  startCall(id: string, name: string): void {
    this.#open = { kind: 'call', call: { id, name } };
  }

  delta(text: RawText): void {
    this.#parts.push(text);
  }

  stop(opaque: OpaqueReasoning | null): void {
    this.blocks.push({ ...this.#open, text: this.#parts.join(''), opaque });
    this.#parts = [];
  }

  end(reason: EndReason, stopSequence: RawText | null): void {
    this.reason = reason;
    this.stopSequence = stopSequence;
  }
}
