import { scanJson } from '../../lib/json/json-scan.ts';
import { JsonSlice } from '../../lib/json/json-slice.ts';
import { type AnswerBlocks, AnswerError, type EndReason } from './answer.ts';
import { BlockSequence } from './block-sequence.ts';
import type { RawText } from './conversation.ts';
import { toRawText } from './raw-text.ts';
import { SimilarText } from './similar-text.ts';

/** Names of members with reasoning. Some providers send two of them at once, so the first one that has text is read. */
const REASONING = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;
/** Members of an answer with content that no other protocol has. */
const MEDIA = ['audio', 'images'] as const;

const ENDS: Readonly<Record<string, EndReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'filter',
};

/** Reads the answer of a chat provider, streamed or whole. Both pass through the same blocks. */
export class ChatAnswer {
  readonly #sequence: BlockSequence;
  #reasoningName: (typeof REASONING)[number] | null = null;
  #reason: EndReason | null = null;
  readonly similar = new SimilarText();
  /** Parts of the current event that have an effect. Similar events are recognized only if it has one, and that is a text. */
  #effects = 0;
  #text: { readonly slice: JsonSlice; readonly apply: (text: RawText) => void } | null = null;

  /** @param callIds ids of earlier calls in the conversation */
  constructor(blocks: AnswerBlocks, callIds: readonly string[]) {
    this.#sequence = new BlockSequence(blocks, callIds);
  }

  /**
   * Reads the data of one event, or a whole response.
   * @throws AnswerError if it has content that cannot be expressed, or breaks the rules of the protocol
   * @throws JsonSyntaxError if it is no JSON
   */
  read(data: Buffer): void {
    scanJson(data);
    this.#effects = 0;
    this.#text = null;
    const top = JsonSlice.at(data).members();
    const choices = top.get('choices');
    this.#sequence.begin({ id: top.get('id')?.text ?? null });
    for (const item of choices?.items() ?? []) this.#readChoice(item.members());
    const text = this.#text as { readonly slice: JsonSlice; readonly apply: (text: RawText) => void } | null;
    if (this.#effects === 1 && text !== null) this.similar.note(data, text.slice, text.apply);
  }

  get keptBytes(): number {
    return this.#sequence.keptBytes;
  }

  /** Ends the answer. Call this when the provider's answer is complete. */
  end(): void {
    this.#sequence.begin({ id: null });
    this.#sequence.end(this.#reason ?? 'stop');
  }

  #readChoice(choice: Map<string, JsonSlice>): void {
    const index = choice.get('index');
    if (index?.kind === 'number' && index.raw !== '0') throw new AnswerError('a provider gave more than one choice');
    // Some servers repeat the whole message beside each delta.
    const content = [choice.get('delta'), choice.get('message')].find((each) => each?.kind === 'object');
    if (content !== undefined) this.#readContent(content.members());
    const reason = choice.get('finish_reason')?.text;
    if (!reason) return;
    this.#effects++;
    this.#reason ??= ENDS[reason] ?? 'stop';
  }

  #readContent(content: Map<string, JsonSlice>): void {
    this.#readReasoning(content);
    const text = content.get('content');
    if (text?.kind === 'string') this.#take('text', text);
    else if (text?.kind === 'array') for (const part of text.items()) this.#readPart(part.members());
    else if (text !== undefined && text.kind !== 'null') throw new AnswerError('the content of the answer is no text');
    const refusal = content.get('refusal');
    if (refusal?.kind === 'string') this.#take('refusal', refusal);
    for (const call of content.get('tool_calls')?.items() ?? []) this.#readCall(call.members());
    const legacy = content.get('function_call');
    if (legacy?.kind === 'object') this.#readFunction(0, null, legacy.members());
    for (const name of MEDIA) {
      const media = content.get(name);
      if (media !== undefined && (media.kind === 'object' || media.items().length > 0)) {
        throw new AnswerError(`the answer has the member "${name}", which only chat can express`);
      }
    }
  }

  #readReasoning(content: Map<string, JsonSlice>): void {
    const details = content.get('reasoning_details')?.items() ?? [];
    for (const name of REASONING) {
      const text = content.get(name);
      if (!text?.rawText || (this.#reasoningName ?? name) !== name) continue;
      this.#reasoningName = name;
      this.#take('reasoning', text);
      break;
    }
    if (details.length === 0) return;
    this.#effects++;
    this.#sequence.details(details.map(({ raw }) => raw));
  }

  #take(kind: 'text' | 'reasoning' | 'refusal', slice: JsonSlice): void {
    const text = slice.rawText!;
    if (text === '') return;
    this.#effects++;
    this.#text = { slice, apply: (similar) => this.#sequence.text(kind, similar) };
    this.#sequence.text(kind, text);
  }

  /** Reads a part of a content that is a list, as Mistral writes it. */
  #readPart(part: Map<string, JsonSlice>): void {
    const type = part.get('type')?.text;
    this.#effects += 2;
    if (type === 'text' || type === 'output_text') {
      this.#sequence.text('text', part.get('text')?.rawText ?? '');
    } else if (type === 'thinking') {
      const thinking = part.get('thinking');
      if (thinking?.kind === 'string') this.#sequence.text('reasoning', thinking.rawText!);
      for (const inner of thinking?.items() ?? []) {
        this.#sequence.text('reasoning', inner.members().get('text')?.rawText ?? '');
      }
    } else if (type !== 'reference') {
      throw new AnswerError(`the answer has a part of the type "${type}"`);
    }
  }

  #readCall(call: Map<string, JsonSlice>): void {
    const index = call.get('index');
    const place = index?.kind === 'number' ? Number(index.raw) : null;
    const id = call.get('id')?.text ?? null;
    this.#readFunction(place, id, (call.get('function') ?? call.get('custom'))?.members() ?? new Map());
  }

  #readFunction(index: number | null, id: string | null, made: Map<string, JsonSlice>): void {
    const args = made.get('arguments') ?? made.get('input');
    const isContinued = id === null && made.get('name') === undefined && args?.kind === 'string';
    this.#effects += isContinued ? 1 : 2;
    if (isContinued) this.#text = { slice: args, apply: (similar) => this.#sequence.call(index, null, null, similar) };
    // Some servers give the arguments as an object.
    const isWritten = args === undefined || args.kind === 'null' || args.kind === 'string';
    const text = isWritten ? (args?.rawText ?? '') : toRawText(args.raw);
    this.#sequence.call(index, id, made.get('name')?.text ?? null, text);
  }
}
