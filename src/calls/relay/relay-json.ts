import type { Clock } from '../../lib/clock.ts';
import { JsonCapture } from '../../lib/json/json-capture.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import { capturedResponse } from '../../protocols/metering/captured-response.ts';
import type { ReadResponse } from '../../protocols/metering/response.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { startExchange, type UpstreamExchange, type UpstreamHead } from '../../providers/upstream/exchange.ts';
import { successBrokenOff, UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { safeResponseHeaders, upstreamRequestId } from '../../providers/upstream/headers.ts';
import { ERROR_BODY_BYTES_MAX } from '../../providers/upstream/refusal.ts';
import { refusalFailure, responseKind } from '../../providers/upstream/response-kind.ts';
import type { Attempt, WholeResponse } from './attempt.ts';
import { estimateUnreported } from './unreported-usage.ts';

/**
 * How much of a whole response is kept in memory until its usage facts are read. Up to this size a success that cannot be
 * billed is a 502. Of a larger response all but the last chunk has left by then, and the connection is closed instead.
 */
const HELD_BYTES_MAX = 32 * 1024 * 1024;
/** The most bytes of the members that are read: usage and ids are small, the output of a compaction may not be. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
const WITHOUT_USAGE = 'The provider gave a response without usage, so it cannot be billed. Nothing is charged.';

/**
 * Relays a whole response: reads it to its end, measures it, settles the call, and only then sends the last byte. The call
 * is settled in the same way where the client leaves meanwhile (`docs/client-aborts.md`).
 *
 * @throws UpstreamFailure if there is no success to bill.
 */
export async function relayJson(attempt: Attempt, clock: Clock): Promise<void> {
  await new JsonRelay(attempt, clock).run();
}

class JsonRelay {
  readonly #attempt: Attempt;
  readonly #clock: Clock;
  readonly #capture: JsonCapture;
  #exchange!: UpstreamExchange;
  #head: UpstreamHead | null = null;
  #requestId: string;
  #firstByteAtMs: number | null = null;
  /** The part of the response that has not been sent. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isInvalid = false;
  #hasOutgrownMemory = false;
  /** There was no memory to store the response for repeats. */
  #isUnstorable = false;

  constructor(attempt: Attempt, clock: Clock) {
    this.#attempt = attempt;
    this.#clock = clock;
    this.#requestId = attempt.call.requestId;
    const { keep, count, holding, estimate } = attempt.call.input.response;
    const more = attempt.upstream.provider.estimatesUsage ? estimate : undefined;
    this.#capture = new JsonCapture({
      keep: more === undefined ? keep : [...new Set([...keep, ...more.keep])],
      count: more === undefined ? count : [...new Set([...count, ...more.count])],
      holding,
      keptBytesMax: KEPT_BYTES_MAX,
    });
  }

  /** The largest body that is stored for repeats of the call; 0 if none is. */
  get #storedBytesMax(): number {
    return this.#attempt.call.claim?.bodyBytesMax ?? 0;
  }

  async run(): Promise<void> {
    const { client } = this.#attempt.call;
    this.#exchange = startExchange(this.#attempt.upstream, (head) => this.#receiveHead(head));
    client.onDrained(() => this.#exchange.resume());
    client.onGone(() => {
      // A client that has left never drains; the response is still read to its end and settled.
      this.#exchange.abortUnsent();
      this.#dropUnlessStorable();
      this.#exchange.resume();
    });
    const failure = await this.#exchange.done.then(
      () => null,
      (error: unknown) => error,
    );
    try {
      await this.#finish(failure);
    } catch (error) {
      if (client.hasBegun) client.breakOff();
      throw error;
    }
  }

  #receiveHead(head: UpstreamHead): (chunk: Buffer) => void {
    this.#head = head;
    this.#firstByteAtMs = this.#clock.nowMs();
    this.#requestId = upstreamRequestId(head.headers) ?? this.#requestId;
    const kind = responseKind(head);
    if (kind === 'refusal') return (chunk) => this.#receiveRefusal(chunk);
    if (kind === 'unusable') this.#isInvalid = true;
    return (chunk) => this.#receiveSuccess(chunk);
  }

  #receiveRefusal(chunk: Buffer): void {
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= ERROR_BODY_BYTES_MAX) this.#held.push(chunk);
    else this.#exchange.abort();
  }

  #receiveSuccess(chunk: Buffer): void {
    if (this.#isInvalid) return;
    try {
      this.#capture.push(chunk);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      this.#isInvalid = true;
      this.#exchange.abort();
      return;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#attempt.call.client.isGone) {
      this.#dropUnlessStorable();
      return;
    }
    this.#hasOutgrownMemory ||= this.#heldBytes > HELD_BYTES_MAX;
    if (this.#hasOutgrownMemory) this.#sendAllButLast();
  }

  /** Drops a response whose client has left, unless it is small enough to be stored for repeats. */
  #dropUnlessStorable(): void {
    if (this.#heldBytes > this.#storedBytesMax || !this.#hasMemoryToStore()) this.#held = [];
  }

  /** Takes the memory to store what is held. */
  #hasMemoryToStore(): boolean {
    this.#isUnstorable ||= this.#attempt.call.claim?.takeMemory(this.#heldBytes) === false;
    return !this.#isUnstorable;
  }

  #sendAllButLast(): void {
    const { client } = this.#attempt.call;
    const last = this.#held.pop()!;
    if (!client.hasBegun) this.#begin(contentLength(this.#head!));
    for (const chunk of this.#held) {
      if (!client.write(chunk)) this.#exchange.pause();
    }
    this.#held = [last];
  }

  async #finish(failure: unknown): Promise<void> {
    const head = this.#head;
    // A refusal stays a refusal where the rest of its body does not arrive.
    if (failure !== null && (head === null || head.status === 200)) {
      const hasBegun = head !== null && this.#heldBytes > 0;
      throw hasBegun && failure instanceof UpstreamFailure ? successBrokenOff(failure) : failure;
    }
    if (head!.status !== 200) {
      const { texts } = this.#attempt.upstream.provider.hidden;
      throw refusalFailure(head!, Buffer.concat(this.#held), texts, this.#requestId);
    }
    const response = this.#readResponse();
    const { input, client } = this.#attempt.call;
    const usage = response === null ? null : await this.#usage(response);
    if (usage === null) throw this.#unusable(response);
    await this.#attempt.settle(
      {
        status: 'succeeded',
        usage,
        httpStatus: 200,
        error: null,
        requestId: this.#requestId,
        counts: true,
        firstByteAtMs: this.#firstByteAtMs,
        continuationKeys: input.response.continuationKeys(response!),
      },
      () => this.#wholeResponse(),
    );
    if (client.isGone) return;
    if (!client.hasBegun) this.#begin(this.#heldBytes);
    const last = this.#held.pop();
    for (const chunk of this.#held) client.write(chunk);
    client.end(last);
  }

  /** The usage as reported, or where it is not as estimated, if the provider is one of which that is known. */
  async #usage(response: ReadResponse): Promise<UsageFacts | null> {
    const { input, basis } = this.#attempt.call;
    const observed = input.response.usage(response, basis);
    if (observed !== null) return { ...observed, source: 'observed' };
    return this.#attempt.upstream.provider.estimatesUsage ? estimateUnreported(response, this.#attempt) : null;
  }

  #unusable(response: ReadResponse | null): UpstreamFailure {
    const lacksUsage = this.#attempt.call.basis === 'tokens' && (response?.member('usage') ?? null) === null;
    return unusableSuccess(this.#requestId, response !== null && lacksUsage ? WITHOUT_USAGE : undefined);
  }

  /** The captured members of the response, read without parsing all of it; `null` if it is not JSON. */
  #readResponse(): ReadResponse | null {
    if (this.#isInvalid) return null;
    try {
      this.#capture.end();
    } catch (error) {
      if (error instanceof JsonSyntaxError) return null;
      throw error;
    }
    return capturedResponse(this.#capture);
  }

  /** The response that repeats of the call get. */
  #wholeResponse(): WholeResponse {
    const response = { status: 200, headers: this.#headers() };
    if (this.#heldBytes > this.#storedBytesMax || this.#hasOutgrownMemory) return { ...response, body: null };
    if (!this.#hasMemoryToStore()) return { ...response, body: null, hasNoRoom: true };
    return { ...response, body: Buffer.concat(this.#held) };
  }

  #begin(sizeBytes: number | null): void {
    const headers = this.#headers();
    this.#attempt.call.client.begin(200, sizeBytes === null ? headers : { ...headers, 'content-length': sizeBytes });
  }

  #headers(): Record<string, string> {
    return {
      ...safeResponseHeaders(this.#head!.headers),
      'content-type': jsonContentType(this.#head!.headers['content-type']),
      'x-request-id': this.#requestId,
      'request-id': this.#requestId,
    };
  }
}

function contentLength({ headers }: UpstreamHead): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Clients parse by content type: with the wrong type of a provider they would return JSON as a string. */
function jsonContentType(contentType: string | undefined): string {
  return contentType !== undefined && /^application\/([\w.+-]+\+)?json\b/i.test(contentType)
    ? contentType
    : 'application/json';
}
