import type { AnswerBlocks, AnswerHead, EndReason, OpaqueReasoning } from './answer.ts';
import type { AnswerTerms, StreamWriter } from './answer-terms.ts';
import type { CollectedAnswer, CollectedBlock } from './collected-answer.ts';
import type { RawJson, RawText } from './conversation.ts';
import type { ToolNames } from './names.ts';
import { fromRawText, objectOf, wrapped } from './raw-text.ts';
import { KeptReasoning } from './reasoning-carrier.ts';
import { messagesUsage, type ShownUsage } from './shown-usage.ts';

const STOP_REASONS: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  filter: 'refusal',
  pause: 'pause_turn',
};

/** Writes an answer as the event stream of a messages client. */
export class MessagesStreamWriter implements AnswerBlocks, StreamWriter {
  readonly #terms: AnswerTerms;
  readonly #offered: ToolNames;
  #events = '';
  #index = -1;
  #open: 'text' | 'thinking' | 'call' = 'text';
  readonly #reasoning = new KeptReasoning();
  #end: { readonly reason: EndReason; readonly stopSequence: RawText | null } | null = null;

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

  begin({ id }: AnswerHead): void {
    const { callId, model, inputTokensLow } = this.#terms;
    this.#event(
      'message_start',
      `"message":{"id":${JSON.stringify(messageId(id ?? callId))},"type":"message","role":"assistant","model":${JSON.stringify(
        model,
      )},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":${inputTokensLow},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`,
    );
  }

  startText(): void {
    this.#start('text', '{"type":"text","text":""}');
  }

  startRefusal(): void {
    this.startText();
  }

  startReasoning(): void {
    this.#start('thinking', '{"type":"thinking","thinking":"","signature":""}');
  }

  startCall(id: string, name: string): void {
    const tool = this.#offered.find(name);
    const shown = JSON.stringify(tool?.name ?? name);
    this.#start('call', `{"type":"tool_use","id":${JSON.stringify(id)},"name":${shown},"input":{}}`);
  }

  delta(text: RawText): void {
    if (this.#open === 'thinking' && !this.#terms.showsReasoning) {
      this.#reasoning.add(text);
      return;
    }
    const delta = DELTAS[this.#open];
    this.#events += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":{${delta}"${text}"}}\n\n`;
  }

  stop(opaque: OpaqueReasoning | null): void {
    if (this.#open === 'thinking') {
      const signature = this.#reasoning.carrier(this.#terms, opaque, this.#terms.showsReasoning);
      this.#event(
        'content_block_delta',
        `"index":${this.#index},"delta":{"type":"signature_delta","signature":${JSON.stringify(signature)}}`,
      );
    }
    this.#event('content_block_stop', `"index":${this.#index}`);
  }

  end(reason: EndReason, stopSequence: RawText | null): void {
    this.#end = { reason, stopSequence };
  }

  finish(usage: ShownUsage | null): string {
    const { reason, stopSequence } = this.#end ?? { reason: 'stop' as const, stopSequence: null };
    const sequence = stopSequence === null ? 'null' : `"${stopSequence}"`;
    const word = stopSequence === null ? STOP_REASONS[reason] : 'stop_sequence';
    const shown = usage === null ? '{"output_tokens":0}' : messagesUsage(usage);
    this.#event('message_delta', `"delta":{"stop_reason":"${word}","stop_sequence":${sequence}},"usage":${shown}`);
    this.#event('message_stop', '');
    return this.take();
  }

  #start(open: 'text' | 'thinking' | 'call', block: string): void {
    this.#open = open;
    this.#index++;
    this.#event('content_block_start', `"index":${this.#index},"content_block":${block}`);
  }

  #event(type: string, members: string): void {
    this.#events += `event: ${type}\ndata: {"type":"${type}"${members === '' ? '' : ','}${members}}\n\n`;
  }
}

const DELTAS = {
  text: '"type":"text_delta","text":',
  thinking: '"type":"thinking_delta","thinking":',
  call: '"type":"input_json_delta","partial_json":',
} as const;

/** Writes an answer as the whole response of a messages client. */
export function wholeMessagesAnswer(
  { head, blocks, reason, stopSequence }: CollectedAnswer,
  terms: AnswerTerms,
  names: ToolNames,
  usage: ShownUsage | null,
): string {
  const content = blocks.map((block) => wholeBlock(block, terms, names));
  const shown = usage === null ? '{"input_tokens":0,"output_tokens":0}' : messagesUsage(usage);
  const word = stopSequence === null ? STOP_REASONS[reason] : 'stop_sequence';
  return [
    `{"id":${JSON.stringify(messageId(head.id ?? terms.callId))},"type":"message","role":"assistant"`,
    `"model":${JSON.stringify(terms.model)},"content":[${content.join(',')}]`,
    `"stop_reason":"${word}","stop_sequence":${stopSequence === null ? 'null' : `"${stopSequence}"`},"usage":${shown}}`,
  ].join(',');
}

function wholeBlock({ kind, text, call, opaque }: CollectedBlock, terms: AnswerTerms, names: ToolNames): string {
  if (kind === 'call') {
    const name = JSON.stringify(names.find(call!.name)?.name ?? call!.name);
    return `{"type":"tool_use","id":${JSON.stringify(call!.id)},"name":${name},"input":${argumentsObject(text)}}`;
  }
  if (kind !== 'reasoning') return `{"type":"text","text":"${text}"}`;
  const { showsReasoning } = terms;
  const kept = new KeptReasoning();
  kept.add(text);
  const signature = JSON.stringify(kept.carrier(terms, opaque, showsReasoning));
  return `{"type":"thinking","thinking":"${showsReasoning ? text : ''}","signature":${signature}}`;
}

/** Arguments as an object. Text that is no JSON object is wrapped, because the protocol has no other place for it. */
export function argumentsObject(raw: RawText): RawJson {
  const args = fromRawText(raw);
  return objectOf(args) ?? wrapped(args);
}

function messageId(id: string): string {
  return id.startsWith('msg_') ? id : `msg_${id.replace(NO_ID, '_')}`;
}

const NO_ID = /[^a-zA-Z0-9_-]/g;
