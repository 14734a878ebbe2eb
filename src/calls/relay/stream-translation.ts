import { GatewayError } from '../../errors/gateway-error.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';
import type { StreamReading } from '../../protocols/metering/stream-reading.ts';
import type { Usage } from '../../protocols/metering/usage-facts.ts';
import { AnswerError } from '../../protocols/translation/answer.ts';
import { type AnswerCall, TranslatedStream } from '../../protocols/translation/translated-answer.ts';
import type { AnswerFacts } from '../../protocols/translation/translated-request.ts';

const NO_BYTES = Buffer.alloc(0);

/** The translation of a stream, which remembers what went wrong. */
export class StreamTranslation {
  readonly #stream: TranslatedStream;
  /** Why the stream cannot be translated; `null`: nothing went wrong. */
  failure: AnswerError | JsonSyntaxError | null = null;
  #error: GatewayError | null = null;
  #isClosed = false;

  constructor(facts: AnswerFacts, call: AnswerCall) {
    this.#stream = new TranslatedStream(facts, call);
  }

  get keptBytes(): number {
    return this.#stream.keptBytes;
  }

  /** Translates whole events. After a failure, nothing more is written. */
  push(events: Buffer): Buffer {
    if (this.#isClosed) return NO_BYTES;
    return this.#try(() => this.#stream.push(events));
  }

  /** Ends the open block. Call this before the call is settled, because an answer may prove invalid at its end. */
  close(): Buffer {
    if (this.#isClosed) return NO_BYTES;
    const rest = this.#try(() => this.#stream.close());
    this.#isClosed = true;
    return rest;
  }

  /** Returns the terminal event. Call this when the call is settled. */
  end(usage: Usage | null): Buffer {
    return this.#stream.end(usage);
  }

  /** Keeps the words of an error event of the provider. */
  noteError(event: Buffer): void {
    const { data } = eventFields(event);
    const body = data === null ? null : parseJson(data.toString('utf8'));
    const error = isRecord(body) && isRecord(body.error) ? body.error : body;
    const message = isRecord(error) && typeof error.message === 'string' ? error.message : undefined;
    this.#error ??= new GatewayError('streamBroken', message === undefined ? {} : { message });
  }

  /** The error that the provider reported in its stream; `null`: none. */
  get error(): GatewayError | null {
    return this.#error;
  }

  #try(translate: () => Buffer): Buffer {
    if (this.failure !== null) return NO_BYTES;
    try {
      return translate();
    } catch (error) {
      if (!(error instanceof AnswerError) && !(error instanceof JsonSyntaxError)) throw error;
      this.failure = error;
      return NO_BYTES;
    }
  }
}

/** Events are translated as a whole, however large they are. */
export function neededWhole(reading: StreamReading): StreamReading {
  return Object.create(reading, { isNeededWhole: { value: () => true } }) as StreamReading;
}
