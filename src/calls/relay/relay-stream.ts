import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { createStreamTap, type StreamTap } from '../../protocols/metering/tap.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { answerKind, refusalFailure } from '../../providers/upstream/answer-kind.ts';
import { startExchange, type UpstreamExchange, type UpstreamHead } from '../../providers/upstream/exchange.ts';
import { UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { safeResponseHeaders, upstreamRequestId } from '../../providers/upstream/headers.ts';
import { ERROR_BODY_BYTES_MAX } from '../../providers/upstream/refusal.ts';
import { removeSecrets } from '../../providers/upstream/secrets.ts';
import type { Attempt } from './attempt.ts';
import { type AbortEvent, type AbortState, limitOf, nextAbortState } from './client-abort.ts';
import { type KeepAlive, startKeepAlive } from './keep-alive.ts';
import { toAnswer } from './to-answer.ts';

/** What may follow the run of events that holds the terminal one, while that waits for settlement. */
const HELD_BACK_BYTES_MAX = 1024 * 1024;
/** How long the terminal event waits for usage that the provider reports behind it. */
const LATE_USAGE_MS = 2_000;

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
  #firstEventAtMs: number | null = null;
  #receivedBytes = 0;
  /** Whether the client held the stream back, which makes it slower than the model. */
  #wasPaused = false;
  /** The body of an answer that is not a stream. */
  #otherBody: Buffer[] | null = null;
  #otherBytes = 0;
  /** What becomes of the stream where the client leaves. */
  #abortState: AbortState = 'serving';
  #abortBytesMax = Number.POSITIVE_INFINITY;
  #abortTimer: NodeJS.Timeout | undefined;
  #lateUsageTimer: NodeJS.Timeout | undefined;
  /** Whether the provider's side has ended. */
  #isOver = false;
  /** The terminal event and what follows it, until the call is settled. */
  #heldBack: Buffer[] = [];
  #heldBackBytes = 0;
  #settling: Promise<void> | null = null;
  #isSettled = false;
  #keepAlive: KeepAlive | null = null;
  /** Whether anything of the provider's was there to leave for the client. */
  #hasRelayed = false;

  constructor(attempt: Attempt, clock: Clock) {
    this.#attempt = attempt;
    this.#clock = clock;
    this.#requestId = attempt.call.requestId;
    this.#tap = createStreamTap(attempt.call.input.readStream(attempt.call.basis), {
      forward: (bytes) => this.#send(bytes),
      forwardError: (event) => this.#send(this.#scrubbed(event)),
      finish: (bytes) => this.#finish(bytes),
      finishError: (event) => this.#finish(this.#scrubbed(event)),
    });
  }

  async run(): Promise<void> {
    const { client } = this.#attempt.call;
    this.#exchange = startExchange(this.#attempt.upstream, (head) => this.#receiveHead(head));
    client.onDrained(() => this.#exchange.resume());
    client.onGone(() => {
      this.#exchange.abortUnsent();
      // A client that is gone never drains; what is awaited must flow on.
      this.#exchange.resume();
      this.#stepAbort('clientLeft');
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
      this.#isOver = true;
      clearTimeout(this.#abortTimer);
      clearTimeout(this.#lateUsageTimer);
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
    if (answerKind(head) === 'stream') {
      // Only now is it sure that the answer is a stream; a status could not be taken back.
      this.#startKeepAlive();
      return (chunk) => this.#receive(chunk);
    }
    const body: Buffer[] = [];
    this.#otherBody = body;
    return (chunk) => {
      this.#otherBytes += chunk.length;
      if (this.#otherBytes <= ERROR_BODY_BYTES_MAX) body.push(chunk);
      else this.#exchange.abort();
    };
  }

  #receive(chunk: Buffer): void {
    this.#firstByteAtMs ??= this.#clock.nowMs();
    this.#receivedBytes += chunk.length;
    this.#tap.push(chunk);
    if (this.#tap.hasBegun) this.#firstEventAtMs ??= this.#clock.nowMs();
    if (this.#heldBack.length > 0 && this.#settling === null) this.#settleOrAwaitUsage();
    if (this.#abortState !== 'serving') {
      this.#stepAbort(this.#receivedBytes > this.#abortBytesMax ? 'limitPassed' : 'received');
    }
  }

  #stepAbort(event: AbortEvent): void {
    // A client may leave while its call is settled; nothing is awaited then.
    if (this.#isOver) return;
    const { onClientAbort, abortLimits, upstream } = this.#attempt;
    const state = nextAbortState(this.#abortState, event, this.#tap, onClientAbort);
    if (state === this.#abortState) return;
    this.#abortState = state;
    clearTimeout(this.#abortTimer);
    if (state === 'cancelled') this.#exchange.abort();
    const { firstByteMs } = upstream.provider.timeouts;
    const limit = limitOf(state, abortLimits, { receivedBytes: this.#receivedBytes, firstByteMs });
    if (limit === null) return;
    this.#abortBytesMax = limit.bytes;
    this.#abortTimer = setTimeout(() => this.#stepAbort('limitPassed'), limit.timeMs);
  }

  /** An error, or a 200 that is no stream: an SDK would read that one as an empty stream, so it is a failure too. */
  #notAStream(body: readonly Buffer[]): UpstreamFailure {
    const head = this.#head!;
    if (answerKind(head) !== 'refusal') return unusableSuccess(this.#requestId);
    return refusalFailure(head, Buffer.concat(body), this.#attempt.upstream.provider.secrets, this.#requestId);
  }

  #send(bytes: Buffer): void {
    const { client } = this.#attempt.call;
    if (!this.#hasRelayed) {
      this.#hasRelayed = true;
      if (!this.#tap.hasError) this.#attempt.began();
    }
    if (client.isGone) return;
    if (!client.hasBegun) this.#begin();
    if (!client.write(bytes)) {
      this.#wasPaused = true;
      this.#exchange.pause();
    }
    this.#keepAlive?.postpone();
  }

  #startKeepAlive(): void {
    const { client, settings } = this.#attempt.call;
    const keepAliveMs = settings.config.server.sseKeepAlive;
    if (keepAliveMs === undefined) return;
    this.#keepAlive = startKeepAlive(keepAliveMs, () => {
      if (client.isGone || client.isBehind || !this.#tap.isBetweenEvents) return;
      if (!client.hasBegun) this.#begin();
      client.write(KEEP_ALIVE_COMMENT);
    });
  }

  /** A provider's error goes on byte for byte, but for what would name the provider (contract, section 1). */
  #scrubbed(event: Buffer): Buffer {
    const text = event.toString('utf8');
    const scrubbed = removeSecrets(text, this.#attempt.upstream.provider.secrets);
    return scrubbed === text ? event : Buffer.from(scrubbed);
  }

  #begin(): void {
    this.#attempt.call.client.begin(200, {
      ...safeResponseHeaders(this.#head!.headers),
      'content-type': this.#head!.headers['content-type'] ?? 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-request-id': this.#requestId,
      'request-id': this.#requestId,
    });
  }

  /** The terminal event has come: it waits until the call is settled. */
  #finish(bytes: Buffer): void {
    if (this.#isSettled) {
      this.#send(bytes);
      return;
    }
    if (this.#heldBack.length > 0) {
      this.#heldBackBytes += bytes.length;
      if (this.#heldBackBytes > HELD_BACK_BYTES_MAX) this.#exchange.abort();
    }
    this.#heldBack.push(bytes);
  }

  /**
   * Everything that came with the terminal event is read by now. Some providers report the usage behind it, so without one
   * it is awaited for a short while; what comes after the settlement counts no more.
   */
  #settleOrAwaitUsage(): void {
    const { isUsageFinal, hasError, failsClosed } = this.#tap;
    if (isUsageFinal || hasError || failsClosed) {
      clearTimeout(this.#lateUsageTimer);
      this.#startSettling();
      return;
    }
    this.#lateUsageTimer ??= setTimeout(() => this.#startSettling(), LATE_USAGE_MS);
  }

  #startSettling(): Promise<void> {
    if (this.#settling === null) {
      this.#settling = this.#settleEnd();
      // The failure is dealt with in #complete, which waits for the same promise.
      this.#settling.catch(() => undefined);
    }
    return this.#settling;
  }

  /** The stream came to its end; whether that was a success, the provider said in it. */
  async #settleEnd(): Promise<void> {
    const { hasError, visibleTextBytes } = this.#tap;
    const usage = await this.#usage(0);
    if (usage === null && !hasError && this.#tap.failsClosed) {
      throw unusableSuccess(this.#requestId);
    }
    if (usage?.source === 'observed' && !hasError && !this.#wasPaused) {
      const { outputTokens, reasoningTokens } = usage;
      const durationMs = this.#streamedMs();
      this.#attempt.estimates.note({ outputTokens, reasoningTokens, visibleTextBytes, durationMs });
    }
    await this.#attempt.settle({
      status: hasError ? 'aborted' : 'succeeded',
      usage,
      httpStatus: 200,
      error: hasError ? new GatewayError('streamBroken') : null,
      requestId: this.#requestId,
      counts: !hasError || this.#hasDelivered(usage),
      firstByteAtMs: this.#firstByteAtMs,
      continuationKeys: this.#tap.continuationKeys(),
    });
    this.#isSettled = true;
    for (const bytes of this.#heldBack) this.#send(bytes);
    this.#heldBack = [];
    // Nobody waits for what a provider may still send.
    if (this.#attempt.call.client.isGone) this.#exchange.abort();
  }

  /** What was used, estimated as far as the provider has not reported it, and never more than was reserved then. */
  async #usage(unseenOutputTokens: number): Promise<UsageFacts | null> {
    const { estimates } = this.#attempt;
    const inputTokens = this.#tap.needsInputEstimate ? await estimates.inputTokens() : 0;
    const usage = this.#tap.usage(inputTokens, unseenOutputTokens);
    return usage?.source === 'estimated' ? estimates.bound(usage, this.#tap.reported) : usage;
  }

  /** Whether something of an answer came; of images nothing is charged then, where none was complete. */
  #hasDelivered(usage: UsageFacts | null): boolean {
    return usage !== null || (this.#tap.failsClosed && this.#tap.hasBegun);
  }

  /** The time since the first event. */
  #streamedMs(): number {
    return this.#firstEventAtMs === null ? 0 : this.#clock.nowMs() - this.#firstEventAtMs;
  }

  /** The stream reached its end, whatever became of the connection after that. */
  async #complete(): Promise<void> {
    const { client } = this.#attempt.call;
    try {
      await this.#startSettling();
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
    const { estimates } = this.#attempt;
    const { client } = this.#attempt.call;
    const hasLeft = client.isGone;
    // A client that stayed does not decide when its stream breaks off: what it saw is what it got.
    const usage = await this.#usage(hasLeft ? estimates.unseenTokens(this.#streamedMs()) : 0);
    const isEmptySuccess = failure === null && this.#abortState !== 'cancelled' && !this.#tap.hasError;
    const hasStalled = failure?.answer.kind === 'upstreamTimeout';
    const reason =
      usage === null
        ? new GatewayError(hasStalled ? 'upstreamTimeout' : 'upstreamError', { cause: failure })
        : new GatewayError(hasStalled ? 'streamStalled' : 'streamBroken', { cause: failure });
    if (!client.hasBegun && !hasLeft) {
      // Nothing has been delivered: the failure gets a status of its own, and nothing is charged.
      throw failure ?? unusableSuccess(this.#requestId);
    }
    await this.#attempt
      .settle({
        status: 'aborted',
        usage,
        httpStatus: client.hasBegun ? 200 : null,
        error: hasLeft ? null : reason,
        requestId: this.#requestId,
        counts: this.#hasDelivered(usage) || isEmptySuccess,
        firstByteAtMs: this.#firstByteAtMs,
        continuationKeys: this.#tap.continuationKeys(),
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
