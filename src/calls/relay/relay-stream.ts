import type { Clock } from '../../lib/clock.ts';
import type { Tenant } from '../../lib/fair/shares.ts';
import type { UnsentMemory } from '../../lib/fair/unsent-memory.ts';
import { StreamTap, type TapOutput } from '../../protocols/metering/tap.ts';
import { SignedBlocks } from '../../protocols/signed-blocks.ts';
import {
  Exchange,
  type ResponseReceiver,
  type UpstreamHead,
  type UpstreamRequest,
} from '../../providers/upstream/exchange.ts';
import { type ProviderAnswer, UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { responseKind, upstreamRequestId } from '../../providers/upstream/headers.ts';
import { answerInSuccess, ERROR_BODY_BYTES_MAX, refusalFailure } from '../../providers/upstream/refusal.ts';
import { removeSecrets } from '../../providers/upstream/secrets.ts';
import { answerInEvent, type IsRefusal, streamRefusal } from '../../providers/upstream/stream-refusal.ts';
import type { Call } from '../call.ts';
import type { RequestWorkers } from '../request-workers.ts';
import { relayedHeaders } from './call-headers.ts';
import { type AbortLimits, ClientAbort } from './client-abort.ts';
import type { EstimateDependencies } from './estimates.ts';
import { HeldBytes } from './held-bytes.ts';
import { KEEP_ALIVE_COMMENT, KeepAlive } from './keep-alive.ts';
import { ShownModel } from './shown-model.ts';
import { type EventRelay, StreamEnd } from './stream-end.ts';
import { StreamOpening } from './stream-opening.ts';
import { neededWhole, StreamTranslation } from './stream-translation.ts';
import { untranslatable } from './translated-error.ts';

/** If more bytes follow the terminal event, the provider's connection is closed and the stream is complete. */
const BYTES_AFTER_END_MAX = 1024 * 1024;

const NO_BYTES = Buffer.alloc(0);

export interface RelayDependencies extends EstimateDependencies {
  readonly translateAnswer: RequestWorkers['translateAnswer'];
  readonly abortLimits: AbortLimits;
  readonly clock: Clock;
  /** The memory budget for responses that wait in the gateway. */
  readonly unsentOf: (tenant: Tenant) => UnsentMemory;
}

/**
 * Relays a stream. Events are forwarded as they arrive, with backpressure in both directions; the terminal event waits until the charge is
 * durable (`docs/architecture.md`, "Invariants of money"). A failure before the first event gets its own status.
 * @param isRefusal whether the call is tried elsewhere after an error as the first event; `null`: no other attempt is left
 * @throws UpstreamFailure if the stream did not begin
 */
export function relayStream(
  call: Call,
  upstream: UpstreamRequest,
  dependencies: RelayDependencies,
  isRefusal: IsRefusal | null = null,
): Promise<void> {
  return new StreamRelay(call, upstream, dependencies, isRefusal).run();
}

class StreamRelay implements ResponseReceiver, TapOutput, EventRelay {
  readonly #call: Call;
  readonly #upstream: UpstreamRequest;
  readonly #dependencies: RelayDependencies;
  readonly #tap: StreamTap;
  readonly #end: StreamEnd;
  #exchange!: Exchange;
  #memory!: HeldBytes;
  #head: UpstreamHead | null = null;
  requestId: string;
  firstByteAtMs: number | null = null;
  firstEventAtMs: number | null = null;
  wasPaused = false;
  #receivedBytes = 0;
  /** Set if the response is not a stream. */
  #otherBody: Buffer[] | null = null;
  #clientAbort: ClientAbort | null = null;
  #isOver = false;
  #bytesAfterEnd = 0;
  #keepAlive: KeepAlive | null = null;
  /** Whether events were relayed; true even if the client had left by then. */
  #hasRelayed = false;
  readonly #isRefusal: IsRefusal | null;
  /** Keeps the first events as long as another attempt can be made; `null`: none is left. */
  readonly #opening: StreamOpening | null;
  /** A refusal that the provider sent as an event, before anything was forwarded to the client. */
  #refusal: UpstreamFailure | null = null;
  /** The provider's error event, if it was sent to the client. */
  #errorEvent: Buffer | null = null;
  /** Translates what is sent to the client; `null`: it is sent as it is. */
  readonly #translated: StreamTranslation | null;
  /** Writes the name of the model that the client asked for; `null`: the provider's name stays. */
  readonly #shownModel: ShownModel | null;
  /** Whether the client gets the bytes of the provider. */
  readonly #isPlain: boolean;

  constructor(call: Call, upstream: UpstreamRequest, dependencies: RelayDependencies, isRefusal: IsRefusal | null) {
    const { requestId, input, hasSeveralMakers } = call;
    const { basis } = call.pricing;
    const { translation } = call;
    this.#translated = translation === null ? null : new StreamTranslation(translation.answer, call);
    const showsAsked = call.route.showsAskedModel === true && translation === null;
    this.#shownModel = showsAsked ? new ShownModel(call.askedModel) : null;
    this.#call = call;
    this.#upstream = upstream;
    this.#dependencies = dependencies;
    this.requestId = requestId;
    this.#isRefusal = isRefusal;
    this.#opening = isRefusal !== null ? new StreamOpening((bytes) => this.#relay(bytes)) : null;
    const signed = hasSeveralMakers && input.signedMember !== null ? new SignedBlocks() : null;
    const reading = input.readStream(basis, upstream.provider.restatesUsage);
    this.#isPlain = this.#translated === null && this.#shownModel === null;
    this.#tap = new StreamTap(this.#isPlain ? reading : neededWhole(reading), this, signed);
    this.#end = new StreamEnd(call, upstream.body, dependencies, this.#tap, this, this.#translated);
  }

  async run(): Promise<void> {
    const { client, principal } = this.#call;
    this.#exchange = Exchange.start(this.#upstream, this);
    this.#memory = new HeldBytes(this.#dependencies.unsentOf(principal), client, this.#exchange);
    client.onGone(() => this.#clientLeft());
    let failure: UpstreamFailure | null = null;
    let endedCleanly = false;
    try {
      try {
        endedCleanly = (await this.#exchange.done) === 'ended';
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        failure = error;
      } finally {
        this.#stop();
      }
      if (this.#refusal !== null) throw this.#refusal;
      this.#opening?.sendKept();
      if (this.#otherBody !== null) throw this.#notAStream(this.#otherBody);
      this.#tap.end();
      const isCancelled = this.#clientAbort?.state === 'cancelled';
      const untranslated = this.#end.isSettling ? null : (this.#translated?.failure ?? null);
      if (untranslated !== null) failure = untranslatable(untranslated, this.requestId);
      await (untranslated === null && this.#tap.isComplete(endedCleanly)
        ? this.#end.complete()
        : this.#end.breakOff(failure, isCancelled));
    } finally {
      this.#memory.over();
    }
  }

  /** Called when the provider's side has ended. Only the end of the stream is still to be written. */
  #stop(): void {
    this.#isOver = true;
    if (this.#call.keepAlive === null || this.#call.client.isCommitted) this.#keepAlive?.stop();
    else this.#keepAlive?.attemptFailed();
    this.#clientAbort?.stop();
    this.#end.stop();
    this.#opening?.stop();
  }

  #clientLeft(): void {
    this.#exchange.abortUnsent();
    // A client that has left reads nothing more, so reading from the provider must not wait for it.
    this.count();
    if (this.#isOver) return;
    const { policy, model, settings } = this.#call;
    const onClientAbort = policy.operation.isAlwaysAwaited
      ? 'drain'
      : (model.onClientAbort ?? settings.config.billing.onClientAbort);
    const { firstByteMs } = this.#upstream.provider.timeouts;
    const limits = { ...this.#dependencies.abortLimits, firstByteMs };
    this.#clientAbort = new ClientAbort(this.#tap, this.#receivedBytes, onClientAbort, limits, () => this.abort());
  }

  receiveHead(head: UpstreamHead): void {
    this.#head = head;
    this.requestId = upstreamRequestId(head.headers) ?? this.requestId;
    // A keep-alive sends the status 200, so it starts only if the response is a stream.
    if (responseKind(head.status, head.headers) === 'stream') this.#startKeepAlive();
    else this.#otherBody = [];
  }

  receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#otherBody !== null) {
      if (this.#receivedBytes <= ERROR_BODY_BYTES_MAX) this.#otherBody.push(chunk);
      else this.#exchange.abort();
      return;
    }
    this.firstByteAtMs ??= this.#dependencies.clock.nowMs();
    if (this.#end.hasBegun) {
      this.#bytesAfterEnd += chunk.length;
      if (this.#bytesAfterEnd > BYTES_AFTER_END_MAX) this.#exchange.abort();
    }
    const tap = this.#tap;
    tap.push(chunk);
    if (tap.isVoid || this.#translated?.failure) this.#exchange.abort();
    this.count();
    if (tap.hasBegun) this.firstEventAtMs ??= this.#dependencies.clock.nowMs();
    if (this.#end.hasBegun) this.#end.settleOrAwaitUsage();
    this.#clientAbort?.received(this.#receivedBytes);
  }

  /** A 200 without a stream is an error too: an SDK would read it as an empty stream. */
  #notAStream(body: readonly Buffer[]): UpstreamFailure {
    const head = this.#head!;
    const { texts } = this.#upstream.provider.hidden;
    const bytes = Buffer.concat(body);
    if (responseKind(head.status, head.headers) === 'refusal') {
      return refusalFailure(head, bytes, texts, this.requestId);
    }
    return unusableSuccess(this.requestId, undefined, answerInSuccess(head.status, bytes, texts));
  }

  /** If an error event arrives before anything was sent, aborts the request, so that another route is tried. Returns whether it did. */
  #refuses(event: Buffer): boolean {
    const isSent = this.#hasRelayed || this.#call.client.isCommitted || this.#end.hasBegun;
    if (this.#opening === null || isSent) return false;
    const { texts } = this.#upstream.provider.hidden;
    this.#refusal ??= streamRefusal(event, this.#head!, texts, this.requestId, this.#isRefusal!);
    if (this.#refusal === null) return false;
    this.#exchange.abort();
    return true;
  }

  forward(bytes: Buffer): void {
    if (this.#refusal !== null) return;
    if (this.#hasRelayed || !this.#opening?.keep(bytes)) this.#relay(bytes);
  }

  forwardError(event: Buffer): void {
    if (this.#refuses(event)) return;
    this.#errorEvent ??= event;
    if (this.#translated === null) this.send(this.#shown(this.#scrubbed(event)));
    else this.#translated.noteError(event, this.#head!, this.#upstream.provider.hidden.texts, this.requestId);
  }

  finish(bytes: Buffer): void {
    if (this.#translated !== null) this.#opening?.sendKept();
    this.#end.hold(this.#isPlain ? bytes : this.#shown(bytes));
  }

  finishError(event: Buffer): void {
    if (this.#refuses(event)) return;
    this.#errorEvent ??= event;
    this.#translated?.noteError(event, this.#head!, this.#upstream.provider.hidden.texts, this.requestId);
    this.#end.hold(this.#translated === null ? this.#shown(this.#scrubbed(event)) : NO_BYTES);
  }

  /** Sends events of the provider. */
  #relay(bytes: Buffer): void {
    if (!this.#hasRelayed) this.#relayBegins();
    this.send(this.#isPlain ? bytes : this.#shown(bytes));
  }

  /** Events of the provider as the client gets them. */
  #shown(events: Buffer): Buffer {
    if (this.#translated !== null) return this.#translated.push(events);
    return this.#shownModel === null ? events : this.#shownModel.write(events);
  }

  /** What the provider's error event says; `null`: there was none. */
  get errorAnswer(): ProviderAnswer | null {
    const event = this.#errorEvent;
    return event === null ? null : answerInEvent(event, this.#head!, this.#upstream.provider.hidden.texts);
  }

  send(bytes: Buffer): void {
    if (!this.#hasRelayed) this.#relayBegins();
    if (bytes.length === 0) return;
    const { client } = this.#call;
    if (!client.hasBegun) {
      if (client.isGone) return;
      this.begin();
    }
    client.write(bytes);
    this.#keepAlive?.postpone();
  }

  #relayBegins(): void {
    this.#opening?.sendKept();
    if (this.#hasRelayed) return;
    this.#hasRelayed = true;
    if (!this.#tap.hasError) this.#call.began();
  }

  /** Updates the memory in use. Reading continues if the client keeps up and the kept bytes fit into the budget. */
  count(): void {
    const translatedBytes = this.#translated === null ? 0 : this.#translated.keptBytes;
    this.#memory.keep(this.#tap.memoryBytes + this.#end.heldBytes + (this.#opening?.keptBytes ?? 0) + translatedBytes);
    if (!this.#memory.readOn()) this.wasPaused = true;
  }

  #startKeepAlive(): void {
    const { client, settings, keepAlive } = this.#call;
    const keepAliveMs = settings.config.server.sseKeepAlive;
    if (keepAlive === null && keepAliveMs === undefined) return;
    this.#keepAlive =
      keepAlive ??
      new KeepAlive(keepAliveMs!, () => {
        if (client.isGone || client.isBehind) return;
        if (!client.hasBegun) this.begin();
        client.write(KEEP_ALIVE_COMMENT);
      });
    this.#keepAlive.isBetweenEvents = () => this.#tap.isBetweenEvents;
  }

  /** Text that identifies the provider is removed (contract 1). */
  #scrubbed(event: Buffer): Buffer {
    const text = event.toString('utf8');
    const scrubbed = removeSecrets(text, this.#upstream.provider.hidden.texts);
    return scrubbed === text ? event : Buffer.from(scrubbed);
  }

  begin(): void {
    const upstream = this.#head!.headers;
    const contentType = upstream['content-type'] ?? 'text/event-stream; charset=utf-8';
    const headers = relayedHeaders(upstream, contentType, this.requestId);
    headers['cache-control'] = 'no-cache';
    headers['x-accel-buffering'] = 'no';
    this.#call.client.begin(200, headers);
  }

  abort(): void {
    this.#exchange.abort();
  }
}
