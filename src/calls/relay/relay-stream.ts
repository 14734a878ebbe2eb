import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ShareHolder } from '../../lib/fair/shares.ts';
import type { UnsentMemory } from '../../lib/fair/unsent-memory.ts';
import { createStreamTap, type StreamTap } from '../../protocols/metering/tap.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { SignedBlocks } from '../../protocols/signed-blocks.ts';
import {
  startExchange,
  type UpstreamExchange,
  type UpstreamHead,
  type UpstreamRequest,
} from '../../providers/upstream/exchange.ts';
import { UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { safeResponseHeaders, upstreamRequestId } from '../../providers/upstream/headers.ts';
import { ERROR_BODY_BYTES_MAX } from '../../providers/upstream/refusal.ts';
import { refusalFailure, responseKind } from '../../providers/upstream/response-kind.ts';
import { removeSecrets } from '../../providers/upstream/secrets.ts';
import { streamRefusal } from '../../providers/upstream/stream-refusal.ts';
import type { Call } from '../call.ts';
import { type KeepAlive, startKeepAlive } from './client.ts';
import { type AbortEvent, type AbortLimits, type AbortState, limitOf, nextAbortState } from './client-abort.ts';
import { type EstimateParts, estimateInput, reservationOf, withinReservation } from './estimates.ts';
import { toResponse } from './failover.ts';
import { HeldBytes } from './held-bytes.ts';
import { StreamOpening } from './stream-opening.ts';

/** The most bytes that are read behind the terminal event; a provider that sends more is cut off, and its stream is complete. */
const BYTES_BEHIND_END_MAX = 1024 * 1024;
/** How long the terminal event waits for usage that the provider reports behind it. */
const LATE_USAGE_MS = 2_000;

/** A larger terminal event is held back in pieces, because a buffer of that size leaves too large a hole in the heap of the system. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

const EVENT_END = Buffer.from('\n\n');

/** Readers of event streams ignore comments (WHATWG HTML, "Server-sent events"). */
const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n');

/** The parts that all calls are relayed with. */
export interface RelayParts extends EstimateParts {
  readonly abortLimits: AbortLimits;
  readonly clock: Clock;
  /** The memory of a response of which not all can be sent. */
  readonly unsentOf: (holder: ShareHolder) => UnsentMemory;
}

/**
 * Relays a stream. Events leave as they come, with backpressure in both directions. The terminal event waits until the
 * charge is durable (`docs/architecture.md`, "Invariants of money"). Before the first event nothing has been sent, so a
 * failure gets a status of its own.
 *
 * @param hasAlternative whether another route may take the call if this one refuses it.
 * @throws UpstreamFailure if the stream did not begin.
 */
export function relayStream(
  call: Call,
  upstream: UpstreamRequest,
  parts: RelayParts,
  hasAlternative = false,
): Promise<void> {
  return new StreamRelay(call, upstream, parts, hasAlternative).run();
}

class StreamRelay {
  readonly #call: Call;
  readonly #upstream: UpstreamRequest;
  readonly #parts: RelayParts;
  readonly #tap: StreamTap;
  #exchange!: UpstreamExchange;
  #memory!: HeldBytes;
  #head: UpstreamHead | null = null;
  #requestId: string;
  #firstByteAtMs: number | null = null;
  #firstEventAtMs: number | null = null;
  #receivedBytes = 0;
  /** Whether the client has slowed the stream down, so that its speed is not that of the model. */
  #wasPaused = false;
  /** The body of a response that is not a stream. */
  #otherBody: Buffer[] | null = null;
  #otherBytes = 0;
  /** What happens to the stream after the client has left. */
  #abortState: AbortState = 'serving';
  #abortBytesMax = Number.POSITIVE_INFINITY;
  #abortTimer: NodeJS.Timeout | undefined;
  #lateUsageTimer: NodeJS.Timeout | undefined;
  /** Whether the provider's side has ended. */
  #isOver = false;
  /** The terminal event and the bytes after it, until the call is settled. */
  #heldBack: Buffer[] = [];
  #heldBackBytes = 0;
  #bytesBehindEnd = 0;
  #settling: Promise<void> | null = null;
  #isSettled = false;
  #keepAlive: KeepAlive | null = null;
  /** Whether bytes of the provider have been forwarded, also if the client has left. */
  #hasRelayed = false;
  /** `null`: no other route may take the call if this one refuses it. */
  readonly #opening: StreamOpening | null;
  /** What the provider said in place of a stream. */
  #refusal: UpstreamFailure | null = null;

  constructor(call: Call, upstream: UpstreamRequest, parts: RelayParts, hasAlternative: boolean) {
    const { requestId, input, basis, hasSeveralMakers } = call;
    this.#call = call;
    this.#upstream = upstream;
    this.#parts = parts;
    this.#requestId = requestId;
    this.#opening = hasAlternative ? new StreamOpening((bytes) => this.#send(bytes)) : null;
    const output = {
      forward: (bytes: Buffer) => this.#forward(bytes),
      forwardError: (event: Buffer) => this.#refuses(event) || this.#send(this.#scrubbed(event)),
      finish: (bytes: Buffer) => this.#finish(bytes),
      finishError: (event: Buffer) => this.#refuses(event) || this.#finish(this.#scrubbed(event)),
    };
    const signed = hasSeveralMakers && input.signedMember !== null ? new SignedBlocks() : null;
    this.#tap = createStreamTap(input.readStream(basis, upstream.provider.restatesUsage), output, signed);
  }

  async run(): Promise<void> {
    const { client, principal } = this.#call;
    this.#exchange = startExchange(this.#upstream, (head) => this.#receiveHead(head));
    this.#memory = new HeldBytes(this.#parts.unsentOf(principal), client, this.#exchange);
    client.onGone(() => {
      this.#exchange.abortUnsent();
      // A client that has left never drains; what is awaited must still be read.
      this.#count();
      this.#stepAbort('clientLeft');
    });
    try {
      await this.#relay();
    } finally {
      this.#memory.over();
    }
  }

  async #relay(): Promise<void> {
    let failure: UpstreamFailure | null = null;
    let endedCleanly = false;
    try {
      endedCleanly = (await this.#exchange.done) === 'ended';
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      failure = error;
    } finally {
      // From here on only the end is written, which an event without its empty line may precede.
      this.#keepAlive?.stop();
      this.#isOver = true;
      clearTimeout(this.#abortTimer);
      clearTimeout(this.#lateUsageTimer);
      this.#opening?.stop();
    }
    if (this.#refusal !== null) throw this.#refusal;
    this.#opening?.sendKept();
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
    if (responseKind(head) === 'stream') {
      // Only now is the response known to be a stream; a keep-alive sends the status, which is final.
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
    this.#firstByteAtMs ??= this.#parts.clock.nowMs();
    this.#receivedBytes += chunk.length;
    if (this.#heldBack.length > 0 || this.#isSettled) {
      this.#bytesBehindEnd += chunk.length;
      if (this.#bytesBehindEnd > BYTES_BEHIND_END_MAX) this.#exchange.abort();
    }
    this.#tap.push(chunk);
    if (this.#tap.isVoid) this.#exchange.abort();
    this.#count();
    if (this.#tap.hasBegun) this.#firstEventAtMs ??= this.#parts.clock.nowMs();
    if (this.#heldBack.length > 0 && this.#settling === null) this.#settleOrAwaitUsage();
    if (this.#abortState !== 'serving') {
      this.#stepAbort(this.#receivedBytes > this.#abortBytesMax ? 'limitPassed' : 'received');
    }
  }

  #stepAbort(event: AbortEvent): void {
    // A client may leave while its call is settled; then there is nothing to await.
    if (this.#isOver) return;
    const { policy, model, settings } = this.#call;
    const whatIsDone = policy.operation.isAlwaysAwaited
      ? 'drain'
      : (model.onClientAbort ?? settings.config.billing.onClientAbort);
    const state = nextAbortState(this.#abortState, event, this.#tap, whatIsDone);
    if (state === this.#abortState) return;
    this.#abortState = state;
    clearTimeout(this.#abortTimer);
    if (state === 'cancelled') this.#exchange.abort();
    const { firstByteMs } = this.#upstream.provider.timeouts;
    const limit = limitOf(state, this.#parts.abortLimits, { receivedBytes: this.#receivedBytes, firstByteMs });
    if (limit === null) return;
    this.#abortBytesMax = limit.bytes;
    this.#abortTimer = setTimeout(() => this.#stepAbort('limitPassed'), limit.timeMs);
  }

  /** The failure of a refusal, or of a 200 that is no stream, which an SDK would read as an empty stream. */
  #notAStream(body: readonly Buffer[]): UpstreamFailure {
    const head = this.#head!;
    if (responseKind(head) !== 'refusal') return unusableSuccess(this.#requestId);
    return refusalFailure(head, Buffer.concat(body), this.#upstream.provider.hidden.texts, this.#requestId);
  }

  /** Whether an error event is a refusal before anything was sent, for which another route is tried; then the provider is left. */
  #refuses(event: Buffer): boolean {
    const isSent = this.#hasRelayed || this.#call.client.hasBegun || this.#heldBack.length > 0;
    if (this.#opening === null || isSent) return false;
    this.#refusal ??= streamRefusal(event, this.#head!, this.#upstream.provider.hidden.texts, this.#requestId);
    if (this.#refusal === null) return false;
    this.#exchange.abort();
    return true;
  }

  #forward(bytes: Buffer): void {
    if (this.#refusal === null && !this.#opening?.keep(bytes)) this.#send(bytes);
  }

  #send(bytes: Buffer): void {
    const { client } = this.#call;
    this.#opening?.sendKept();
    if (!this.#hasRelayed) {
      this.#hasRelayed = true;
      if (!this.#tap.hasError) this.#call.began();
    }
    if (client.isGone) return;
    if (!client.hasBegun) this.#begin();
    client.write(bytes);
    this.#keepAlive?.postpone();
  }

  /** Counts the kept bytes, and reads on if the client keeps up and the bytes fit into the budget. */
  #count(): void {
    this.#memory.keep(this.#tap.memoryBytes + this.#heldBackBytes + (this.#opening?.keptBytes ?? 0));
    if (!this.#memory.readOn()) this.#wasPaused = true;
  }

  #startKeepAlive(): void {
    const { client, settings } = this.#call;
    const keepAliveMs = settings.config.server.sseKeepAlive;
    if (keepAliveMs === undefined) return;
    this.#keepAlive = startKeepAlive(keepAliveMs, () => {
      if (client.isGone || client.isBehind || !this.#tap.isBetweenEvents) return;
      if (!client.hasBegun) this.#begin();
      client.write(KEEP_ALIVE_COMMENT);
    });
  }

  /** A provider's error event, unchanged except that what names the provider is removed (contract 1). */
  #scrubbed(event: Buffer): Buffer {
    const text = event.toString('utf8');
    const scrubbed = removeSecrets(text, this.#upstream.provider.hidden.texts);
    return scrubbed === text ? event : Buffer.from(scrubbed);
  }

  #begin(): void {
    const upstream = this.#head!.headers;
    const headers = safeResponseHeaders(upstream);
    headers['content-type'] = upstream['content-type'] ?? 'text/event-stream; charset=utf-8';
    headers['cache-control'] = 'no-cache';
    headers['x-accel-buffering'] = 'no';
    headers['x-request-id'] = this.#requestId;
    headers['request-id'] = this.#requestId;
    this.#call.client.begin(200, headers);
  }

  /** Holds back the terminal event, and the bytes after it, until the call is settled. */
  #finish(bytes: Buffer): void {
    if (this.#isSettled) {
      this.#send(bytes);
      return;
    }
    this.#heldBack.push(...(bytes.length > WHOLE_BYTES_MAX ? piecesOf(bytes) : [bytes]));
    this.#heldBackBytes += bytes.length;
  }

  /**
   * Runs when everything that came with the terminal event has been read. Some providers report usage behind it, so missing
   * usage is awaited for a short time. Usage that comes after the settlement is ignored.
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
      // #complete awaits the same promise and handles its failure.
      this.#settling.catch(() => undefined);
    }
    return this.#settling;
  }

  /** Settles a stream that came to its end, as a success unless it contained an error event. */
  async #settleEnd(): Promise<void> {
    const { hasError, visibleTextBytes } = this.#tap;
    const usage = await this.#usage(0);
    if (usage === null && !hasError && this.#tap.failsClosed) {
      throw unusableSuccess(this.#requestId);
    }
    if (usage?.source === 'observed' && !hasError && !this.#wasPaused) {
      const { outputTokens, reasoningTokens } = usage;
      const durationMs = this.#streamedMs();
      this.#parts.speeds.note(this.#call.route.id, { outputTokens, reasoningTokens, visibleTextBytes, durationMs });
    }
    await this.#call.end({
      status: hasError ? 'aborted' : 'succeeded',
      usage,
      httpStatus: 200,
      error: hasError ? new GatewayError('streamBroken') : null,
      requestId: this.#requestId,
      counts: !hasError || this.#hasDelivered(usage),
      firstByteAtMs: this.#firstByteAtMs,
      continuationKeys: this.#tap.continuationKeys(),
      response: null,
    });
    this.#isSettled = true;
    for (const bytes of this.#heldBack) this.#send(bytes);
    this.#heldBack = [];
    this.#heldBackBytes = 0;
    this.#count();
    // The client has left, so further bytes of the provider have no use.
    if (this.#call.client.isGone) this.#exchange.abort();
  }

  /** The usage: as reported, or where it is not complete as estimated, up to what was reserved. */
  async #usage(unseenOutputTokens: number): Promise<UsageFacts | null> {
    const call = this.#call;
    const inputTokens = this.#tap.needsInputEstimate
      ? await estimateInput(this.#parts.countInput, call, this.#upstream.body)
      : 0;
    const usage = this.#tap.usage(inputTokens, unseenOutputTokens);
    if (usage?.source !== 'estimated') return usage;
    const delivered = this.#tap.usage(inputTokens) ?? usage;
    return withinReservation(usage, { reported: this.#tap.reported, delivered }, reservationOf(call));
  }

  /** Whether a part of the response came. Incomplete images count as delivered, but are not charged. */
  #hasDelivered(usage: UsageFacts | null): boolean {
    return usage !== null || (this.#tap.failsClosed && this.#tap.hasBegun);
  }

  /** Milliseconds since the first event. */
  #streamedMs(): number {
    return this.#firstEventAtMs === null ? 0 : this.#parts.clock.nowMs() - this.#firstEventAtMs;
  }

  /** Ends a stream that reached its end, however the connection to the provider closed after that. */
  async #complete(): Promise<void> {
    const { client } = this.#call;
    try {
      await this.#startSettling();
    } catch (error) {
      if (client.hasBegun) client.endWithError(toResponse(error), this.#requestId);
      throw error;
    }
    if (client.isGone) return;
    // A complete stream may have had nothing to forward.
    if (!client.hasBegun) this.#begin();
    client.end();
  }

  /**
   * Ends a stream that did not reach its end: the client left, the provider failed, or it stopped in the middle. What was
   * observed or can be estimated is charged (`docs/client-aborts.md`), otherwise nothing.
   */
  async #breakOff(failure: UpstreamFailure | null): Promise<void> {
    const { client, model } = this.#call;
    const hasLeft = client.isGone;
    // A client that stayed did not cause the end of its stream: hidden output is not estimated then.
    const usage = await this.#usage(
      hasLeft ? this.#parts.speeds.unseenTokens(this.#call.route.id, this.#streamedMs(), model.hiddenReasoning) : 0,
    );
    const isEmptySuccess = failure === null && this.#abortState !== 'cancelled' && !this.#tap.hasError;
    const hasStalled = failure?.response.kind === 'upstreamTimeout';
    const reason =
      usage === null
        ? new GatewayError(hasStalled ? 'upstreamTimeout' : 'upstreamError', { cause: failure })
        : new GatewayError(hasStalled ? 'streamStalled' : 'streamBroken', { cause: failure });
    if (!client.hasBegun && !hasLeft) {
      // Nothing was delivered: the failure gets a status of its own, and nothing is charged.
      throw failure ?? unusableSuccess(this.#requestId);
    }
    await this.#call
      .end({
        status: 'aborted',
        usage,
        httpStatus: client.hasBegun ? 200 : null,
        error: hasLeft ? null : reason,
        requestId: this.#requestId,
        counts: this.#hasDelivered(usage) || isEmptySuccess,
        firstByteAtMs: this.#firstByteAtMs,
        continuationKeys: this.#tap.continuationKeys(),
        response: null,
      })
      .finally(() => {
        if (hasLeft) return;
        // An event without its empty line must end first, or readers drop it and the error event.
        if (!this.#tap.isBetweenEvents) client.write(EVENT_END);
        // The provider's own error event has been forwarded; a second one would confuse clients.
        if (this.#tap.hasError) client.endBroken();
        else client.endWithError(reason, this.#requestId);
      });
  }
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield Buffer.from(bytes.subarray(at, at + PIECE_BYTES));
}
