import { scanJson } from '../../lib/json/json-scan.ts';
import { JsonSlice } from '../../lib/json/json-slice.ts';
import { type AnswerBlocks, AnswerError, type EndReason, reasonShown } from './answer.ts';
import type { RawText } from './conversation.ts';
import { madeCallId } from './names.ts';
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

type BlockKind = 'text' | 'thinking' | 'call';

/** Deltas with text: the kind of their block, and the member with the text. */
const DELTAS: Readonly<Record<string, { readonly of: BlockKind; readonly member: string }>> = {
  text_delta: { of: 'text', member: 'text' },
  thinking_delta: { of: 'thinking', member: 'thinking' },
  input_json_delta: { of: 'call', member: 'partial_json' },
};

/** Maximum length of a signature. It contains the thinking if the provider does not show it. */
const SIGNATURE_LENGTH_MAX = 4 * 1024 * 1024;

/** Reads the answer of a messages provider, streamed or whole. */
export class MessagesAnswer {
  readonly #blocks: AnswerBlocks;
  #hasBegun = false;
  #open: BlockKind | null = null;
  /** `index` of the open block; `null`: not stated. */
  #index: string | null = null;
  #calls = 0;
  #answerId: string | null = null;
  /** Input of a call that came with the start of its block; deltas replace it. */
  #inputAtStart: RawText | null = null;
  #signature = '';
  #data: string | null = null;
  #reason: EndReason | null = null;
  #stopSequence: RawText | null = null;
  readonly similar = new SimilarText();

  constructor(blocks: AnswerBlocks) {
    this.#blocks = blocks;
  }

  /**
   * Reads the data of one event, or a whole response.
   * @throws AnswerError if it has content that cannot be expressed
   * @throws JsonSyntaxError if it is no JSON
   */
  read(data: Buffer): void {
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
        this.#index = top.get('index')?.raw ?? null;
        break;
      case 'content_block_delta':
        this.#delta(data, top);
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

  get keptBytes(): number {
    return this.#signature.length;
  }

  /** Ends the answer. Call this when the provider's answer is complete. */
  end(): void {
    this.#begin(new Map());
    this.#stop();
    this.#blocks.end(reasonShown(this.#reason ?? 'stop', this.#calls > 0), this.#stopSequence);
  }

  #begin(message: Map<string, JsonSlice>): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#answerId = message.get('id')?.text ?? null;
    this.#blocks.begin({ id: this.#answerId });
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
    this.#index = null;
    const type = block.get('type')?.text;
    if (type === 'text') {
      this.#open = 'text';
      this.#blocks.startText();
      this.#write(block.get('text'));
    } else if (type === 'thinking') {
      this.#open = 'thinking';
      this.#blocks.startReasoning();
      this.#write(block.get('thinking'));
      this.#signature = block.get('signature')?.text ?? '';
    } else if (type === 'redacted_thinking') {
      this.#open = 'thinking';
      this.#blocks.startReasoning();
      this.#data = block.get('data')?.text ?? null;
    } else if (type === 'tool_use') {
      this.#startCall(block);
    } else {
      throw new AnswerError(`the answer has a block of the type "${type}"`);
    }
  }

  #startCall(block: Map<string, JsonSlice>): void {
    const name = block.get('name')?.text;
    if (!name) throw new AnswerError('a tool call has no name');
    this.#open = 'call';
    this.#calls++;
    this.#blocks.startCall(block.get('id')?.text || madeCallId(this.#answerId, this.#calls), name);
    const input = block.get('input');
    this.#inputAtStart = input === undefined ? '{}' : toRawText(input.raw);
  }

  #write(text: JsonSlice | undefined): void {
    const raw = text?.rawText;
    if (raw) this.#blocks.delta(raw);
  }

  #writeText(text: RawText): void {
    if (this.#open === null) throw new AnswerError('a delta belongs to no block');
    if (text === '') return;
    this.#inputAtStart = null;
    this.#blocks.delta(text);
  }

  #delta(data: Buffer, event: Map<string, JsonSlice>): void {
    const index = event.get('index')?.raw ?? null;
    const isOfOther = index !== null && this.#index !== null && index !== this.#index;
    if (this.#open === null || isOfOther) throw new AnswerError('a delta belongs to no block');
    const delta = event.get('delta')?.members() ?? new Map<string, JsonSlice>();
    const type = delta.get('type')?.text ?? '';
    if (type === 'signature_delta') this.#signature += delta.get('signature')?.text ?? '';
    if (this.#signature.length > SIGNATURE_LENGTH_MAX) throw new AnswerError('a signature is too long');
    if (!Object.hasOwn(DELTAS, type)) return;
    const { of, member } = DELTAS[type]!;
    if (of !== this.#open) throw new AnswerError(`a ${type} belongs to a block of another type`);
    const text = delta.get(member);
    if (text?.kind !== 'string') return;
    this.#writeText(text.rawText!);
    this.similar.note(data, text, (similar) => this.#writeText(similar));
  }

  #stop(): void {
    if (this.#open === null) return;
    this.#open = null;
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
