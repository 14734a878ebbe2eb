import type { AnswerBlocks, AnswerHead, EndReason, OpaqueReasoning } from './answer.ts';
import type { AnswerTerms, StreamWriter } from './answer-terms.ts';
import { CARRIER_FORMAT } from './carriers.ts';
import type { CollectedAnswer } from './collected-answer.ts';
import type { RawText } from './conversation.ts';
import type { ToolNames } from './names.ts';
import { KeptReasoning } from './reasoning-carrier.ts';
import { chatUsage, type ShownUsage } from './shown-usage.ts';
import { WrittenObject } from './written-object.ts';

const FINISH_REASONS: Readonly<Record<EndReason, string>> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
  filter: 'content_filter',
  pause: 'stop',
};

/** Writes an answer as the event stream of a chat client. */
export class ChatStreamWriter implements AnswerBlocks, StreamWriter {
  readonly #terms: AnswerTerms;
  readonly #offered: ToolNames;
  readonly #reasoning = new KeptReasoning();
  #events = '';
  #head = '';
  #calls = -1;
  #open: 'content' | 'refusal' | 'reasoning_content' | 'call' = 'content';
  #isCustom = false;
  #end: EndReason = 'stop';

  constructor(terms: AnswerTerms, names: ToolNames) {
    this.#terms = terms;
    this.#offered = names;
  }

  get keptBytes(): number {
    return this.#reasoning.sizeBytes;
  }

  take(): string {
    const written = this.#events;
    this.#events = '';
    return written;
  }

  begin(head: AnswerHead): void {
    this.#head = chatHead(head, this.#terms, 'chat.completion.chunk');
    this.#chunk('{"role":"assistant","content":""}');
  }

  startText(): void {
    this.#open = 'content';
  }

  startRefusal(): void {
    this.#open = 'refusal';
  }

  startReasoning(): void {
    this.#open = 'reasoning_content';
  }

  startCall(id: string, name: string): void {
    this.#open = 'call';
    this.#calls++;
    const tool = this.#offered.find(name);
    this.#isCustom = tool?.form === 'custom';
    const shown = JSON.stringify(tool?.name ?? name);
    const made = this.#isCustom
      ? `"type":"custom","custom":{"name":${shown},"input":""}`
      : `"type":"function","function":{"name":${shown},"arguments":""}`;
    this.#chunk(`{"tool_calls":[{"index":${this.#calls},"id":${JSON.stringify(id)},${made}}]}`);
  }

  delta(text: RawText): void {
    if (this.#open === 'call') {
      const made = this.#isCustom ? `"custom":{"input":"${text}"}` : `"function":{"arguments":"${text}"}`;
      this.#chunk(`{"tool_calls":[{"index":${this.#calls},${made}}]}`);
      return;
    }
    if (this.#open === 'reasoning_content') this.#reasoning.add(text);
    this.#chunk(`{"${this.#open}":"${text}"}`);
  }

  stop(opaque: OpaqueReasoning | null): void {
    if (this.#open !== 'reasoning_content') return;
    const details = carrierDetails(this.#reasoning.carrier(this.#terms, opaque, opaque?.signature === undefined));
    this.#chunk(`{"reasoning_details":${details}}`);
  }

  end(reason: EndReason): void {
    this.#end = reason;
  }

  finish(usage: ShownUsage | null): string {
    this.#write(`"choices":[{"index":0,"delta":{},"finish_reason":"${FINISH_REASONS[this.#end]}"}]`);
    if (this.#terms.reportsUsage && usage !== null) this.#write(`"choices":[],"usage":${chatUsage(usage)}`);
    return `${this.take()}data: [DONE]\n\n`;
  }

  #chunk(delta: string): void {
    this.#write(`"choices":[{"index":0,"delta":${delta},"finish_reason":null}]`);
  }

  #write(members: string): void {
    this.#events += `data: {${this.#head},${members}}\n\n`;
  }
}

/** Writes an answer as the whole response of a chat client. */
export function wholeChatAnswer(
  { head, blocks, reason }: CollectedAnswer,
  terms: AnswerTerms,
  names: ToolNames,
  usage: ShownUsage | null,
): string {
  const message = new WrittenObject();
  const joined = (kind: string): RawText =>
    blocks.flatMap((block) => (block.kind === kind ? [block.text] : [])).join('');
  const text = joined('text');
  const refusal = joined('refusal');
  message.add('role', '"assistant"');
  message.add('content', text === '' && blocks.some(({ kind }) => kind === 'call') ? 'null' : `"${text}"`);
  message.add('refusal', refusal === '' ? 'null' : `"${refusal}"`);
  const reasoning = blocks.filter(({ kind }) => kind === 'reasoning');
  if (reasoning.length > 0) {
    message.add('reasoning_content', `"${reasoning.map((block) => block.text).join('')}"`);
    const items = reasoning.map(({ text: thought, opaque }) => {
      const kept = new KeptReasoning();
      kept.add(thought);
      return carrierDetails(kept.carrier(terms, opaque, opaque?.signature === undefined)).slice(1, -1);
    });
    message.add('reasoning_details', `[${items.join(',')}]`);
  }
  const calls = blocks.flatMap(({ call, text: args }) => {
    if (call === null) return [];
    const tool = names.find(call.name);
    const name = JSON.stringify(tool?.name ?? call.name);
    const made =
      tool?.form === 'custom'
        ? `"type":"custom","custom":{"name":${name},"input":"${args}"}`
        : `"type":"function","function":{"name":${name},"arguments":"${args}"}`;
    return [`{"id":${JSON.stringify(call.id)},${made}}`];
  });
  if (calls.length > 0) message.add('tool_calls', `[${calls.join(',')}]`);
  const choice = `{"index":0,"message":${message},"logprobs":null,"finish_reason":"${FINISH_REASONS[reason]}"}`;
  const shown = usage === null ? '' : `,"usage":${chatUsage(usage)}`;
  return `{${chatHead(head, terms, 'chat.completion')},"choices":[${choice}]${shown}}`;
}

function chatHead({ id }: AnswerHead, terms: AnswerTerms, object: string): string {
  const shownId = JSON.stringify(id ?? terms.callId);
  return `"id":${shownId},"object":"${object}","created":${terms.createdAt},"model":${JSON.stringify(terms.model)}`;
}

function carrierDetails(carrier: string): string {
  return `[{"type":"reasoning.encrypted","format":"${CARRIER_FORMAT}","data":${JSON.stringify(carrier)},"index":0}]`;
}
