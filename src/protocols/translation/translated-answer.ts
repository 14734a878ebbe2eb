import { eventFields } from '../../lib/sse/event-fields.ts';
import { eachEvent } from '../../lib/sse/sse.ts';
import type { Usage } from '../metering/usage-facts.ts';
import type { AnswerBlocks } from './answer.ts';
import type { AnswerTerms, StreamWriter } from './answer-terms.ts';
import { CollectedAnswer } from './collected-answer.ts';
import { CustomInputs } from './custom-inputs.ts';
import { type AnswerReader, answerReaders, clientForms } from './forms.ts';
import { ToolNames } from './names.ts';
import { shownUsage } from './shown-usage.ts';
import type { AnswerFacts } from './translated-request.ts';

/** Bytes of text a token has at most in most languages: the estimate at the beginning of a stream must not exceed the usage at its end. */
const BYTES_PER_TOKEN_HIGH = 5;

const DONE = Buffer.from('[DONE]');
const PING = '{"type":"ping"}';
const PING_BYTES_MAX = 32;
/** Replaces comments and pings of the provider. Readers of event streams ignore it. */
const COMMENT = ': keep-alive\n\n';

/** Providers of messages send pings while the model is silent. A text can be the same word. */
function isPing(data: Buffer): boolean {
  return data.length <= PING_BYTES_MAX && data.toString('latin1').replaceAll(' ', '') === PING;
}

export interface AnswerCall {
  readonly callId: string;
  readonly startedAtMs: number;
}

/** Translates a stream, event by event. */
export class TranslatedStream {
  readonly #writer: AnswerBlocks & StreamWriter;
  readonly #custom: CustomInputs;
  readonly #reader: AnswerReader;

  constructor(facts: AnswerFacts, call: AnswerCall) {
    const names = new ToolNames(facts.tools);
    this.#writer = clientForms[facts.client].streamWriter(termsOf(facts, call), names);
    this.#custom = new CustomInputs(this.#writer, names);
    this.#reader = answerReaders[facts.provider](this.#custom, facts.callIds);
  }

  /** Size of what is kept for the end of a block or of the stream. */
  get keptBytes(): number {
    return this.#writer.keptBytes + this.#custom.keptBytes + this.#reader.keptBytes;
  }

  /**
   * Translates whole events.
   * @throws AnswerError or JsonSyntaxError if the provider's stream cannot be expressed
   */
  push(events: Buffer): Buffer {
    let at = 0;
    for (let end = 0; end !== -1 && at < events.length; ) {
      end = this.#reader.similar.take(events, at);
      if (end !== -1) at = end;
    }
    const comments = at < events.length && this.#readAll(events.subarray(at)) ? COMMENT : '';
    return Buffer.from(this.#writer.take() || comments);
  }

  /** Returns whether any event is a comment or a ping. */
  #readAll(events: Buffer): boolean {
    let isKeptAlive = false;
    for (const event of eachEvent(events)) {
      if (this.#reader.similar.take(event, 0) === event.length) continue;
      const { data } = eventFields(event);
      if (data === null || isPing(data)) isKeptAlive = true;
      else if (!data.equals(DONE)) {
        this.#reader.similar.begin(event);
        this.#reader.read(data);
      }
    }
    return isKeptAlive;
  }

  /**
   * Ends the open block.
   * @throws AnswerError if the answer is incomplete
   */
  close(): Buffer {
    this.#reader.end();
    return Buffer.from(this.#writer.take());
  }

  /** Returns the terminal event. Call this after `close`, when the call is settled. */
  end(usage: Usage | null): Buffer {
    return Buffer.from(this.#writer.finish(usage === null ? null : shownUsage(usage)));
  }
}

/**
 * Translates a whole response.
 * @throws AnswerError or JsonSyntaxError if it cannot be expressed
 */
export function translateWhole(facts: AnswerFacts, call: AnswerCall, response: Buffer, usage: Usage | null): Buffer {
  const names = new ToolNames(facts.tools);
  const collected = new CollectedAnswer();
  const reader = answerReaders[facts.provider](new CustomInputs(collected, names), facts.callIds);
  reader.read(response);
  reader.end();
  const shown = usage === null ? null : shownUsage(usage);
  return Buffer.from(clientForms[facts.client].whole(collected, termsOf(facts, call), names, shown));
}

function termsOf(facts: AnswerFacts, { callId, startedAtMs }: AnswerCall): AnswerTerms {
  const { maker, model, showsReasoning, reportsUsage, textBytes } = facts;
  return {
    callId,
    model,
    maker,
    showsReasoning,
    reportsUsage,
    inputTokensLow: Math.floor(textBytes / BYTES_PER_TOKEN_HIGH),
    createdAt: Math.floor(startedAtMs / 1000),
  };
}
