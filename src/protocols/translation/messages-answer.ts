import { scanJson } from '../../lib/json/json-scan.ts';
import { JsonSlice } from '../../lib/json/json-slice.ts';
import { type AnswerBlocks, AnswerError, type EndReason, reasonShown } from './answer.ts';
import type { RawText } from './conversation.ts';
import { toRawText } from './raw-text.ts';
import { SimilarText } from './similar-text.ts';

const ENDS: Readonly<Record<string, EndReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'calls',
  refusal: 'filter',
  pause_turn: 'pause',
};

/** Reads the answer of a messages provider, streamed or whole. */
export class MessagesAnswer {
  readonly #blocks: AnswerBlocks;
  #hasBegun = false;
  #isOpen = false;
  #hasCalls = false;
  /** Input of a call that came with the start of its block; deltas replace it. */
  #inputAtStart: RawText | null = null;
  #signature = '';
  #data: string | null = null;
  #reason: EndReason | null = null;
  #stopSequence: RawText | null = null;
  readonly #similar = new SimilarText();

  constructor(blocks: AnswerBlocks) {
    this.#blocks = blocks;
  }

  /**
   * Reads the data of one event, or a whole response.
   * @throws AnswerError if it has content that cannot be expressed
   * @throws JsonSyntaxError if it is no JSON
   */
  read(data: Buffer): void {
    if (this.#similar.take(data)) return;
    scanJson(data);
    const top = JsonSlice.at(data).members();
    switch (top.get('type')?.text) {
      case 'message_start':
        this.#begin(top.get('message')?.members() ?? new Map());
        break;
      case 'message':
        this.#readWhole(top);
        break;
      case 'content_block_start':
        this.#start(top.get('content_block')?.members() ?? new Map());
        break;
      case 'content_block_delta':
        this.#delta(data, top.get('delta')?.members() ?? new Map());
        break;
      case 'content_block_stop':
        this.#stop();
        break;
      case 'message_delta':
        this.#note(top.get('delta')?.members() ?? new Map());
        break;
      default:
    }
  }

  /** Ends the answer. Call this when the provider's answer is complete. */
  end(): void {
    this.#begin(new Map());
    this.#stop();
    this.#blocks.end(reasonShown(this.#reason ?? 'stop', this.#hasCalls), this.#stopSequence);
  }

  #begin(message: Map<string, JsonSlice>): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#blocks.begin({ id: message.get('id')?.text ?? null, model: message.get('model')?.text ?? null });
  }

  #readWhole(message: Map<string, JsonSlice>): void {
    this.#begin(message);
    for (const item of message.get('content')?.items() ?? []) {
      this.#start(item.members());
      this.#stop();
    }
    this.#note(message);
  }

  #start(block: Map<string, JsonSlice>): void {
    this.#begin(new Map());
    this.#stop();
    const type = block.get('type')?.text;
    this.#isOpen = true;
    if (type === 'text') {
      this.#blocks.startText();
      this.#write(block.get('text'));
    } else if (type === 'thinking') {
      this.#blocks.startReasoning();
      this.#write(block.get('thinking'));
      this.#signature = block.get('signature')?.text ?? '';
    } else if (type === 'redacted_thinking') {
      this.#blocks.startReasoning();
      this.#data = block.get('data')?.text ?? null;
    } else if (type === 'tool_use') {
      this.#hasCalls = true;
      this.#blocks.startCall(block.get('id')?.text ?? '', block.get('name')?.text ?? '');
      const input = block.get('input');
      this.#inputAtStart = input === undefined ? '{}' : toRawText(input.raw);
    } else {
      throw new AnswerError(`the answer has a block of the type "${type}"`);
    }
  }

  #write(text: JsonSlice | undefined): void {
    const raw = text?.rawText;
    if (raw) this.#blocks.delta(raw);
  }

  #writeDelta(data: Buffer, text: JsonSlice | undefined): void {
    this.#write(text);
    if (text?.kind === 'string') this.#similar.note(data, text, (similar) => this.#similarDelta(similar));
  }

  #similarDelta(text: RawText): void {
    if (!this.#isOpen) throw new AnswerError('a delta belongs to no block');
    if (text === '') return;
    this.#inputAtStart = null;
    this.#blocks.delta(text);
  }

  #delta(data: Buffer, delta: Map<string, JsonSlice>): void {
    if (!this.#isOpen) throw new AnswerError('a delta belongs to no block');
    switch (delta.get('type')?.text) {
      case 'text_delta':
        this.#writeDelta(data, delta.get('text'));
        break;
      case 'thinking_delta':
        this.#writeDelta(data, delta.get('thinking'));
        break;
      case 'input_json_delta': {
        const json = delta.get('partial_json');
        if (!json?.rawText) break;
        this.#inputAtStart = null;
        this.#writeDelta(data, json);
        break;
      }
      case 'signature_delta':
        this.#signature += delta.get('signature')?.text ?? '';
        break;
      default:
    }
  }

  #stop(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#inputAtStart !== null) this.#blocks.delta(this.#inputAtStart);
    const data = this.#data;
    const signature = this.#signature;
    this.#inputAtStart = null;
    this.#data = null;
    this.#signature = '';
    if (data !== null) this.#blocks.stop({ data });
    else this.#blocks.stop(signature === '' ? null : { signature });
  }

  #note(end: Map<string, JsonSlice>): void {
    const reason = end.get('stop_reason')?.text;
    if (reason) this.#reason = ENDS[reason] ?? 'stop';
    this.#stopSequence = end.get('stop_sequence')?.rawText ?? this.#stopSequence;
  }
}
