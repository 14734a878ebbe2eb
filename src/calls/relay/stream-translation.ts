import type { GatewayError } from '../../errors/gateway-error.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { StreamReading } from '../../protocols/metering/stream-reading.ts';
import type { Usage } from '../../protocols/metering/usage-facts.ts';
import { AnswerError } from '../../protocols/translation/answer.ts';
import { type AnswerCall, TranslatedStream } from '../../protocols/translation/translated-answer.ts';
import type { AnswerFacts } from '../../protocols/translation/translated-request.ts';
import type { UpstreamHead } from '../../providers/upstream/exchange.ts';
import type { UpstreamFailure } from '../../providers/upstream/failure.ts';
import { errorInEvent, streamRefusal } from '../../providers/upstream/stream-refusal.ts';
import { reportedFailure } from './translated-error.ts';

const NO_BYTES = Buffer.alloc(0);

/** The translation of a stream, which remembers what went wrong. */
export class StreamTranslation {
  readonly #stream: TranslatedStream;
  /** Why the stream cannot be translated; `null`: nothing went wrong. */
  failure: AnswerError | JsonSyntaxError | null = null;
  #error: GatewayError | null = null;
  #errorFailure: UpstreamFailure | null = null;
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

  /** Keeps the first error event of the provider. */
  noteError(event: Buffer, head: UpstreamHead, secrets: readonly string[], requestId: string): void {
    if (this.#error !== null) return;
    this.#error = errorInEvent(event, secrets);
    this.#errorFailure = streamRefusal(event, head, secrets, requestId) ?? reportedFailure(this.#error, requestId);
  }

  /** The error that the provider reported in its stream; `null`: none. */
  get error(): GatewayError | null {
    return this.#error;
  }

  /** The failure of a call whose stream has nothing but this error. */
  get errorFailure(): UpstreamFailure | null {
    return this.#errorFailure;
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
