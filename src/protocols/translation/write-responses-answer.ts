import { type AnswerBlocks, AnswerError, type AnswerHead, type EndReason, type OpaqueReasoning } from './answer.ts';
import type { AnswerTerms, StreamWriter } from './answer-terms.ts';
import type { CollectedAnswer, CollectedBlock } from './collected-answer.ts';
import type { RawJson, RawText } from './conversation.ts';
import type { ToolNames } from './names.ts';
import { KeptReasoning } from './reasoning-carrier.ts';
import {
  contentPart,
  type Item,
  itemOf,
  responseIdOf,
  statusOf,
  summaryPart,
  writeItem,
  writeResponse,
} from './responses-items.ts';
import type { ShownUsage } from './shown-usage.ts';
import { TextParts } from './text-parts.ts';

/** Maximum size of an answer: the last event repeats all of it. */
const OUTPUT_BYTES_MAX = 32 * 1024 * 1024;

/** Events of a block with text: of its deltas and of its end. */
const TEXT_EVENTS = {
  text: { name: 'response.output_text', member: 'text' },
  refusal: { name: 'response.refusal', member: 'refusal' },
  reasoning: { name: 'response.reasoning_summary_text', member: 'text' },
} as const;

/** Writes an answer as the event stream of a responses client. */
export class ResponsesStreamWriter implements AnswerBlocks, StreamWriter {
  readonly #terms: AnswerTerms;
  readonly #offered: ToolNames;
  readonly #reasoning = new KeptReasoning();
  readonly #output: RawJson[] = [];
  #outputBytes = 0;
  #events = '';
  #sequence = 0;
  #id = '';
  #block: Pick<CollectedBlock, 'kind' | 'call'> = { kind: 'text', call: null };
  #item: Item = { type: 'message', id: '' };
  readonly #text = new TextParts();
  /** The id of the open item as JSON. */
  #itemId: RawJson = '""';
  #reason: EndReason = 'stop';

  constructor(terms: AnswerTerms, names: ToolNames) {
    this.#terms = terms;
    this.#offered = names;
  }

  get keptBytes(): number {
    return this.#outputBytes + this.#text.sizeBytes + this.#reasoning.sizeBytes;
  }

  take(): string {
    const written = this.#events;
    this.#events = '';
    return written;
  }

  begin(head: AnswerHead): void {
    this.#id = responseIdOf(head, this.#terms);
    const response = writeResponse({ id: this.#id, output: [], reason: null, usage: null }, this.#terms);
    this.#event('response.created', `"response":${response}`);
    this.#event('response.in_progress', `"response":${response}`);
  }

  startText(): void {
    this.#start({ kind: 'text', call: null });
    this.#part('response.content_part.added', `"part":${contentPart(false, '')}`);
  }

  startRefusal(): void {
    this.#start({ kind: 'refusal', call: null });
    this.#part('response.content_part.added', `"part":${contentPart(true, '')}`);
  }

  startReasoning(): void {
    this.#start({ kind: 'reasoning', call: null });
    if (this.#terms.showsReasoning) this.#part('response.reasoning_summary_part.added', `"part":${summaryPart('')}`);
  }

  startCall(id: string, name: string): void {
    this.#start({ kind: 'call', call: { id, name } });
  }

  delta(text: RawText): void {
    this.#text.add(text);
    this.#checkSize();
    const { kind } = this.#block;
    if (kind === 'call') {
      const name = CALL_DELTAS[this.#item.type as keyof typeof CALL_DELTAS];
      if (name !== undefined) this.#place(`${name}.delta`, `"delta":"${text}"`);
      return;
    }
    if (kind === 'reasoning') {
      this.#reasoning.add(text);
      if (!this.#terms.showsReasoning) return;
    }
    this.#part(`${TEXT_EVENTS[kind].name}.delta`, `"delta":"${text}"${kind === 'text' ? ',"logprobs":[]' : ''}`);
  }

  stop(opaque: OpaqueReasoning | null): void {
    const block = { ...this.#block, text: this.#text.take() };
    const { kind, text } = block;
    const { showsReasoning } = this.#terms;
    let carrier: string | null = null;
    if (kind === 'call') {
      const call = CALL_DELTAS[this.#item.type as keyof typeof CALL_DELTAS];
      const member = this.#item.type === 'custom_tool_call' ? 'input' : 'arguments';
      if (call !== undefined) this.#place(`${call}.done`, `"${member}":"${text}"`);
    } else if (kind === 'reasoning') {
      const isKept = showsReasoning && opaque?.signature === undefined;
      carrier = this.#reasoning.carrier(this.#terms, opaque, isKept);
      if (showsReasoning) this.#endText(kind, text, 'response.reasoning_summary_part.done', summaryPart(text));
    } else {
      this.#endText(kind, text, 'response.content_part.done', contentPart(kind === 'refusal', text));
    }
    const item = writeItem(this.#item, { block, carrier, isShown: showsReasoning, status: 'completed' }, this.#offered);
    this.#output.push(item);
    this.#outputBytes += Buffer.byteLength(item);
    this.#checkSize();
    this.#event('response.output_item.done', `"output_index":${this.#output.length - 1},"item":${item}`);
  }

  end(reason: EndReason): void {
    this.#reason = reason;
  }

  finish(usage: ShownUsage | null): string {
    const whole = { id: this.#id, output: this.#output, reason: this.#reason, usage };
    this.#event(`response.${statusOf(this.#reason)}`, `"response":${writeResponse(whole, this.#terms)}`);
    return this.take();
  }

  #start(block: Pick<CollectedBlock, 'kind' | 'call'>): void {
    this.#block = block;
    const index = this.#output.length;
    this.#item = itemOf(block, index, this.#id, this.#offered);
    this.#itemId = JSON.stringify(this.#item.id);
    const begun = { block: { ...block, text: '' }, carrier: null, isShown: false, status: 'in_progress' } as const;
    const item = writeItem(this.#item, begun, this.#offered);
    this.#event('response.output_item.added', `"output_index":${index},"item":${item}`);
  }

  #checkSize(): void {
    if (this.#outputBytes + this.#text.sizeBytes > OUTPUT_BYTES_MAX)
      throw new AnswerError('the output is larger than the 32 MiB that the last event can repeat');
  }

  #endText(kind: keyof typeof TEXT_EVENTS, text: RawText, partDone: string, part: RawJson): void {
    const { name, member } = TEXT_EVENTS[kind];
    this.#part(`${name}.done`, `"${member}":"${text}"${kind === 'text' ? ',"logprobs":[]' : ''}`);
    this.#part(partDone, `"part":${part}`);
  }

  /** Writes an event of the open item's only part. */
  #part(type: string, members: string): void {
    const index = this.#block.kind === 'reasoning' ? 'summary_index' : 'content_index';
    this.#place(type, `"${index}":0,${members}`);
  }

  #place(type: string, members: string): void {
    this.#event(type, `"item_id":${this.#itemId},"output_index":${this.#output.length},${members}`);
  }

  #event(type: string, members: string): void {
    this.#events += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${members}}\n\n`;
  }
}

/** Events of calls whose arguments are streamed. Other calls are complete in their last event. */
const CALL_DELTAS = {
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
} as const;

/** Writes an answer as the whole response of a responses client. */
export function wholeResponsesAnswer(
  { head, blocks, reason }: CollectedAnswer,
  terms: AnswerTerms,
  names: ToolNames,
  usage: ShownUsage | null,
): string {
  const id = responseIdOf(head, terms);
  const { showsReasoning } = terms;
  const output = blocks.map((block, index) => {
    let carrier: string | null = null;
    if (block.kind === 'reasoning') {
      const kept = new KeptReasoning();
      kept.add(block.text);
      carrier = kept.carrier(terms, block.opaque, showsReasoning && block.opaque?.signature === undefined);
    }
    const whole = { block, carrier, isShown: showsReasoning, status: 'completed' } as const;
    return writeItem(itemOf(block, index, id, names), whole, names);
  });
  return writeResponse({ id, output, reason, usage }, terms);
}
