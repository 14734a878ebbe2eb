import type { ErrorKind } from '../../errors/catalogue.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StreamTap } from '../../protocols/metering/tap.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { RequestBody } from '../../protocols/operations/operation.ts';
import { type ProviderAnswer, UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import type { Call } from '../call.ts';
import type { CallEnd } from '../call-end.ts';
import { type EstimateDependencies, estimateInput, reservationOf, withinReservation } from './estimates.ts';
import { toResponse } from './failover.ts';
import type { StreamTranslation } from './stream-translation.ts';
import { translatedError, untranslatable, untranslatedWords } from './translated-error.ts';

/** How long missing usage is awaited: some providers report it after the terminal event. */
const LATE_USAGE_MS = 2_000;

/** A larger terminal event is held in chunks: one large buffer would fragment the heap. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

const EVENT_END = Buffer.from('\n\n');

export interface EventRelay {
  readonly requestId: string;
  readonly firstByteAtMs: number | null;
  readonly firstEventAtMs: number | null;
  /** Whether a slow client has paused the stream. Its duration then says nothing about the speed of the model. */
  readonly wasPaused: boolean;
  /** What the provider's error event says; `null`: there was none. */
  readonly errorAnswer: ProviderAnswer | null;
  begin(): void;
  send(bytes: Buffer): void;
  count(): void;
  abort(): void;
}

interface EndDependencies extends EstimateDependencies {
  readonly clock: Clock;
}

/** Holds back the terminal event and later bytes until the call is settled. */
export class StreamEnd {
  readonly #call: Call;
  readonly #sent: RequestBody;
  readonly #dependencies: EndDependencies;
  readonly #tap: StreamTap;
  readonly #relay: EventRelay;
  readonly #translation: StreamTranslation | null;
  hasBegun = false;
  heldBytes = 0;
  #held: Buffer[] = [];
  #lateUsageTimer: NodeJS.Timeout | undefined;
  #settling: Promise<void> | null = null;
  #isSettled = false;
  /** Whether the end of the stream could not be translated. */
  #isBroken = false;

  /** @param translation translates the stream; `null`: it is sent as it is */
  constructor(
    call: Call,
    sent: RequestBody,
    dependencies: EndDependencies,
    tap: StreamTap,
    relay: EventRelay,
    translation: StreamTranslation | null,
  ) {
    this.#call = call;
    this.#sent = sent;
    this.#dependencies = dependencies;
    this.#tap = tap;
    this.#relay = relay;
    this.#translation = translation;
  }

  /** Whether the terminal event has arrived. From then on, `complete` handles a failure of the translation, too. */
  get isSettling(): boolean {
    return this.#settling !== null;
  }

  hold(bytes: Buffer): void {
    this.hasBegun = true;
    if (this.#isSettled) {
      this.#relay.send(bytes);
      return;
    }
    this.#held.push(...(bytes.length > WHOLE_BYTES_MAX ? chunksOf(bytes) : [bytes]));
    this.heldBytes += bytes.length;
  }

  /** Called when the provider's side has ended, so no more usage can arrive. */
  stop(): void {
    clearTimeout(this.#lateUsageTimer);
  }

  /**
   * Called when everything that arrived with the terminal event has been read. Waits a short time for missing usage; usage after the
   * settlement is ignored.
   */
  settleOrAwaitUsage(): void {
    if (this.#settling !== null) return;
    const { hasError, usage } = this.#tap;
    if (usage.isFinal || hasError || usage.failsClosed) {
      clearTimeout(this.#lateUsageTimer);
      this.#settle();
    } else {
      this.#lateUsageTimer ??= setTimeout(() => this.#settle(), LATE_USAGE_MS);
    }
  }

  #settle(): Promise<void> {
    if (this.#settling === null) {
      this.#settling = this.#settleAndSend();
      // Prevents an unhandled rejection; `complete` awaits the same promise and handles its failure.
      this.#settling.catch(() => undefined);
    }
    return this.#settling;
  }

  async #settleAndSend(): Promise<void> {
    const translation = this.#translation;
    const { client } = this.#call;
    // Nothing was delivered, so the error gets a status of its own.
    if (translation?.errorFailure && !client.isCommitted && !client.isGone) throw translation.errorFailure;
    if (translation !== null && translation.error === null) {
      this.hold(translation.close());
      if (translation.failure !== null) {
        this.#isBroken = true;
        await this.breakOff(untranslatable(translation.failure, this.#relay.requestId), false);
        return;
      }
    }
    const end = await this.#completed();
    await this.#call.end(end);
    this.#isSettled = true;
    for (const bytes of this.#held) this.#relay.send(bytes);
    if (translation !== null && end.error === null) this.#relay.send(translation.end(end.usage));
    this.#held = [];
    this.heldBytes = 0;
    this.#relay.count();
    // The client has left, so later bytes of the stream are not needed.
    if (client.isGone) this.#relay.abort();
  }

  /** Called after the terminal event. A failure of the provider's connection no longer matters. */
  async complete(): Promise<void> {
    const { client } = this.#call;
    try {
      await this.#settle();
    } catch (error) {
      if (client.isCommitted) client.endWithError(toResponse(error), this.#relay.requestId);
      throw error;
    }
    if (client.isGone || this.#isBroken) return;
    if (this.#translation?.error) {
      if (!client.hasBegun) this.#relay.begin();
      this.#endWithProvidersError(this.#translation.error);
      return;
    }
    // No event may have been forwarded, so the head of the response is still to be sent.
    if (!client.hasBegun) this.#relay.begin();
    client.end();
  }

  /**
   * Ends a stream without a terminal event: the client left, or the provider failed or stopped. Usage that was observed or can be estimated
   * is charged (`docs/client-aborts.md`).
   * @throws if nothing was delivered to a client that stayed: the failure gets its own status, and nothing is charged
   */
  async breakOff(failure: UpstreamFailure | null, isCancelled: boolean): Promise<void> {
    const { client } = this.#call;
    const end = await this.#broken(failure, isCancelled);
    try {
      await this.#call.end(end);
    } finally {
      if (end.error !== null) {
        // Ends an incomplete event, so that readers do not drop the error event after it.
        if (this.#translation === null && !this.#tap.isBetweenEvents) client.write(EVENT_END);
        // The provider's own error event was forwarded; a second one would confuse clients.
        if (this.#translation?.error) this.#endWithProvidersError(this.#translation.error);
        else if (this.#tap.hasError && this.#translation === null) client.endBroken();
        else client.endWithError(end.error, this.#relay.requestId);
      }
    }
  }

  /** Ends the stream with the words of the provider, in the client's protocol. */
  #endWithProvidersError(error: GatewayError): void {
    const { client, policy } = this.#call;
    client.endWithError(translatedError(error, policy.operation), this.#relay.requestId);
  }

  async #completed(): Promise<CallEnd> {
    const { hasError, usage } = this.#tap;
    const { visibleTextBytes } = usage;
    const facts = usage.observed() ?? (await this.#estimated(0));
    if (facts === null && !hasError && usage.failsClosed) throw unusableSuccess(this.#relay.requestId);
    if (facts?.source === 'observed' && !hasError && !this.#relay.wasPaused) {
      const { outputTokens, reasoningTokens } = facts;
      const durationMs = this.#streamedMs();
      this.#dependencies.speeds.note(this.#call.route.id, {
        outputTokens,
        reasoningTokens,
        visibleTextBytes,
        durationMs,
      });
    }
    const error = hasError ? this.#brokenBy('streamBroken', null, facts) : null;
    return this.#endWith(facts, 200, error, !hasError || this.#hasDelivered(facts), hasError ? 'aborted' : 'succeeded');
  }

  async #broken(failure: UpstreamFailure | null, isCancelled: boolean): Promise<CallEnd> {
    const { client, model, route } = this.#call;
    const hasLeft = client.isGone;
    // Hidden output is estimated only if the client left. Otherwise the provider itself ended the stream.
    const unseen = hasLeft
      ? this.#dependencies.speeds.unseenTokens(route.id, this.#streamedMs(), model.hiddenReasoning)
      : 0;
    const usage = this.#tap.usage.observed() ?? (await this.#estimated(unseen));
    if (!client.isCommitted && !hasLeft)
      throw failure ?? this.#translation?.errorFailure ?? unusableSuccess(this.#relay.requestId);
    const isEmptySuccess = failure === null && !isCancelled && !this.#tap.hasError;
    const error = hasLeft ? null : this.#brokenBy(brokenKind(failure, usage), failure, usage);
    const counts = this.#hasDelivered(usage) || isEmptySuccess;
    return this.#endWith(usage, client.hasBegun ? 200 : null, error, counts, 'aborted');
  }

  /** Returns the error of a broken stream. If the provider sent an error event, the event is the cause. */
  #brokenBy(kind: ErrorKind, failure: UpstreamFailure | null, usage: UsageFacts | null): GatewayError {
    const answer = this.#relay.errorAnswer;
    const reason = this.#translation?.failure ?? null;
    const words = reason === null ? {} : { message: untranslatedWords(reason, usage !== null) };
    if (answer === null) return new GatewayError(kind, { ...words, cause: failure });
    return new GatewayError(kind, {
      ...words,
      cause: new UpstreamFailure('unknown', new GatewayError(kind), failure ?? undefined, { answer }),
    });
  }

  #endWith(
    usage: UsageFacts | null,
    httpStatus: number | null,
    error: GatewayError | null,
    counts: boolean,
    status: CallEnd['status'],
  ): CallEnd {
    const { requestId, firstByteAtMs } = this.#relay;
    const continuationKeys = this.#tap.continuationKeys();
    return { status, usage, httpStatus, error, requestId, counts, firstByteAtMs, continuationKeys, response: null };
  }

  async #estimated(unseenOutputTokens: number): Promise<UsageFacts | null> {
    const { usage } = this.#tap;
    const inputTokens = usage.needsInputEstimate
      ? await estimateInput(this.#dependencies.countInput, this.#call, this.#sent)
      : 0;
    const facts = usage.facts(inputTokens, unseenOutputTokens);
    if (facts?.source !== 'estimated') return facts;
    const delivered = usage.facts(inputTokens) ?? facts;
    return withinReservation(facts, { reported: usage.reported, delivered }, reservationOf(this.#call));
  }

  /** Whether the client received output. Incomplete images count as output, although they are not charged. */
  #hasDelivered(usage: UsageFacts | null): boolean {
    return usage !== null || (this.#tap.usage.failsClosed && this.#tap.hasBegun);
  }

  #streamedMs(): number {
    const { firstEventAtMs } = this.#relay;
    return firstEventAtMs === null ? 0 : this.#dependencies.clock.nowMs() - firstEventAtMs;
  }
}

function brokenKind(failure: UpstreamFailure | null, usage: UsageFacts | null) {
  const hasStalled = failure?.response.kind === 'upstreamTimeout';
  if (usage === null) return hasStalled ? 'upstreamTimeout' : 'upstreamError';
  return hasStalled ? 'streamStalled' : 'streamBroken';
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield Buffer.from(bytes.subarray(at, at + CHUNK_BYTES));
}
