import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import { createStreamTap, type StreamTap } from '../metering/tap.ts';
import { startExchange, type UpstreamExchange, type UpstreamHead } from '../upstream/exchange.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import { isEncoded, safeResponseHeaders, upstreamRequestId } from '../upstream/headers.ts';
import { ERROR_BODY_BYTES_MAX } from '../upstream/refusal.ts';
import { removeSecrets } from '../upstream/secrets.ts';
import type { Attempt } from './attempt.ts';
import { type KeepAlive, startKeepAlive } from './keep-alive.ts';
import { refusal } from './relay-json.ts';
import { toAnswer } from './to-answer.ts';

/** What may follow the run of events that holds the terminal one, while that waits for settlement. */
const HELD_BACK_BYTES_MAX = 1024 * 1024;

const EVENT_END = Buffer.from('\n\n');

/** Every reader of event streams ignores comments (WHATWG; wire facts 8.6). */
const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n');

/**
 * Relays a stream. Events leave as they come, with backpressure both ways; the terminal event waits until the charge is
 * durable (design 6). Until the first event nothing has been sent, so a failure still gets its own status.
 *
 * @throws UpstreamFailure where the stream did not begin.
 */
export async function relayStream(attempt: Attempt, clock: Clock): Promise<void> {
  await new StreamRelay(attempt, clock).run();
}

class StreamRelay {
  readonly #attempt: Attempt;
  readonly #clock: Clock;
  readonly #tap: StreamTap;
  #exchange!: UpstreamExchange;
  #head: UpstreamHead | null = null;
  #requestId: string;
  #firstByteAtMs: number | null = null;
  /** The body of an answer that is not a stream. */
  #otherBody: Buffer[] | null = null;
  #otherBytes = 0;
  /** The terminal event and what follows it, until the call is settled. */
  #heldBack: Buffer[] = [];
  #heldBackBytes = 0;
  #settling: Promise<void> | null = null;
  #isSettled = false;
  #keepAlive: KeepAlive | null = null;
  /** Whether anything of the provider's has left for the client. */
  #hasRelayed = false;

  constructor(attempt: Attempt, clock: Clock) {
    this.#attempt = attempt;
    this.#clock = clock;
    this.#requestId = attempt.requestId;
    this.#tap = createStreamTap(attempt.input.readStream(attempt.basis), {
      forward: (bytes) => this.#send(bytes),
      forwardError: (event) => this.#send(this.#scrubbed(event)),
      finish: (bytes) => this.#finish(bytes),
      finishError: (event) => this.#finish(this.#scrubbed(event)),
    });
  }

  async run(): Promise<void> {
    const { client, onClientAbort } = this.#attempt;
    this.#exchange = startExchange(this.#attempt.request, (head) => this.#receiveHead(head));
    client.onDrained(() => this.#exchange.resume());
    client.onGone(() => {
      this.#exchange.abortUnsent();
      if (onClientAbort === 'cancel') this.#exchange.abort();
      // A client that is gone never drains; the provider's stream must flow on to its end.
      else this.#exchange.resume();
    });
    let failure: UpstreamFailure | null = null;
    let endedCleanly = false;
    try {
      endedCleanly = (await this.#exchange.done) === 'ended';
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      failure = error;
    } finally {
      // What follows is the end, and an event that lacks its empty line may come before it.
      this.#keepAlive?.stop();
    }
    if (this.#otherBody !== null) throw this.#notAStream(this.#otherBody);
    this.#tap.end();
    if (this.#tap.isComplete(endedCleanly)) {
      await this.#complete();
    } else {
      await this.#breakOff(failure);
    }
  }

  #receiveHead(head: UpstreamHead): (chunk: Buffer) => void {
    this.#head = head;
    this.#requestId = upstreamRequestId(head.headers) ?? this.#requestId;
    const isStream =
      head.status === 200 &&
      /^text\/event-stream\b/i.test(head.headers['content-type'] ?? '') &&
      !isEncoded(head.headers);
    if (isStream) {
      // Only now is it sure that the answer is a stream; a status could not be taken back.
      this.#startKeepAlive();
      return (chunk) => {
        this.#firstByteAtMs ??= this.#clock.nowMs();
        this.#tap.push(chunk);
      };
    }
    const body: Buffer[] = [];
    this.#otherBody = body;
    return (chunk) => {
      this.#otherBytes += chunk.length;
      if (this.#otherBytes <= ERROR_BODY_BYTES_MAX) body.push(chunk);
      else this.#exchange.abort();
    };
  }

  /** An error, or a 200 that is no stream: an SDK would read that one as an empty stream, so it is a failure too. */
  #notAStream(body: readonly Buffer[]): UpstreamFailure {
    const { status, headers } = this.#head!;
    if (status !== 200) return refusal(this.#attempt, status, headers, Buffer.concat(body), this.#requestId);
    return new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId: this.#requestId }));
  }

  #send(bytes: Buffer): void {
    const { client } = this.#attempt;
    if (client.isGone) return;
    if (!this.#hasRelayed) {
      this.#hasRelayed = true;
      if (!this.#tap.hasError) this.#attempt.began();
    }
    if (!client.hasBegun) this.#begin();
    if (!client.write(bytes)) this.#exchange.pause();
    this.#keepAlive?.postpone();
  }

  #startKeepAlive(): void {
    const { client, keepAliveMs } = this.#attempt;
    if (keepAliveMs === null) return;
    this.#keepAlive = startKeepAlive(keepAliveMs, () => {
      if (client.isGone || client.isBehind || !this.#tap.isBetweenEvents) return;
      if (!client.hasBegun) this.#begin();
      client.write(KEEP_ALIVE_COMMENT);
    });
  }

  /** A provider's error goes on byte for byte, but for what would name the provider (contract, section 1). */
  #scrubbed(event: Buffer): Buffer {
    const text = event.toString('utf8');
    const scrubbed = removeSecrets(text, this.#attempt.request.provider.secrets);
    return scrubbed === text ? event : Buffer.from(scrubbed);
  }

  #begin(): void {
    this.#attempt.client.begin(200, {
      ...safeResponseHeaders(this.#head!.headers),
      'content-type': this.#head!.headers['content-type'] ?? 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-request-id': this.#requestId,
      'request-id': this.#requestId,
    });
  }

  /** The terminal event has come: settle, then let it go. */
  #finish(bytes: Buffer): void {
    if (this.#isSettled) {
      this.#send(bytes);
      return;
    }
    this.#heldBack.push(bytes);
    if (this.#settling === null) {
      this.#settling = this.#settleEnd();
      // The failure is dealt with in #complete, which waits for the same promise.
      this.#settling.catch(() => undefined);
    } else {
      this.#heldBackBytes += bytes.length;
      if (this.#heldBackBytes > HELD_BACK_BYTES_MAX) this.#exchange.abort();
    }
  }

  /** The stream came to its end; whether that was a success, the provider said in it. */
  async #settleEnd(): Promise<void> {
    const { hasError } = this.#tap;
    const usage = this.#tap.usage(this.#attempt.inputTokensEstimate);
    if (usage === null && !hasError && this.#tap.failsClosed) {
      throw new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId: this.#requestId }));
    }
    await this.#attempt.settle({
      status: hasError ? 'aborted' : 'succeeded',
      usage,
      httpStatus: 200,
      error: hasError ? new GatewayError('streamBroken') : null,
      requestId: this.#requestId,
      firstByteAtMs: this.#firstByteAtMs,
      affinityKeys: this.#tap.affinityKeys(),
    });
    this.#isSettled = true;
    for (const bytes of this.#heldBack) this.#send(bytes);
    this.#heldBack = [];
  }

  /** The stream reached its end, whatever became of the connection after that. */
  async #complete(): Promise<void> {
    const { client } = this.#attempt;
    this.#settling ??= this.#settleEnd();
    try {
      await this.#settling;
    } catch (error) {
      if (client.hasBegun) client.endWithError(toAnswer(error), this.#requestId);
      throw error;
    }
    if (client.isGone) return;
    // A complete stream may consist of nothing that was forwarded.
    if (!client.hasBegun) this.#begin();
    client.end();
  }

  /**
   * The stream did not reach its end: the client left, the provider failed, or it stopped in the middle. What was
   * observed is settled (design 7, 11); where nothing was, nothing is charged.
   */
  async #breakOff(failure: UpstreamFailure | null): Promise<void> {
    const { client, inputTokensEstimate } = this.#attempt;
    const hasLeft = client.isGone;
    const usage = this.#tap.usage(inputTokensEstimate);
    const hasStalled = failure?.answer.kind === 'upstreamTimeout';
    const reason =
      usage === null
        ? new GatewayError(hasStalled ? 'upstreamTimeout' : 'upstreamError', { cause: failure })
        : new GatewayError(hasStalled ? 'streamStalled' : 'streamBroken', { cause: failure });
    if (!client.hasBegun && !hasLeft) {
      // Nothing has been delivered: the failure gets a status of its own, and nothing is charged.
      throw (
        failure ?? new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId: this.#requestId }))
      );
    }
    await this.#attempt
      .settle({
        status: 'aborted',
        usage,
        httpStatus: client.hasBegun ? 200 : null,
        error: hasLeft ? null : reason,
        requestId: this.#requestId,
        firstByteAtMs: this.#firstByteAtMs,
        affinityKeys: this.#tap.affinityKeys(),
      })
      .finally(() => {
        if (hasLeft) return;
        // An event that lacks its empty line has to end before another one can be seen, and to be seen itself.
        if (!this.#tap.isBetweenEvents) client.write(EVENT_END);
        // The provider's own error event has been forwarded already; a second one would only confuse.
        if (this.#tap.hasError) client.end();
        else client.endWithError(reason, this.#requestId);
      });
  }
}
