/**
 * What happens to a provider's stream when its client leaves (`docs/client-aborts.md`). The decision is a pure function:
 * the relay reports events and the progress of the stream, and acts on the state that is returned.
 *
 *   serving ── the client leaves ─▶ awaitingEnd         if the stream is read to its end: images, and `drain`
 *                                 ▶ awaitingRest        if an end of the output was seen: the usage follows
 *                                 ▶ awaitingFirstEvent  if nothing has come: the provider works on the prompt
 *                                 ▶ cancelled           otherwise
 *   awaitingFirstEvent ── an event ─▶ awaitingRest, cancelled
 *   awaitingFirstEvent, awaitingRest ── limit of time or bytes ─▶ cancelled
 */
export type AbortState = 'serving' | 'awaitingFirstEvent' | 'awaitingRest' | 'awaitingEnd' | 'cancelled';

/**
 * - `clientLeft`: the client's connection is closed.
 * - `received`: a part of the stream has come.
 * - `limitPassed`: the time or the bytes that a state allows are used up.
 */
export type AbortEvent = 'clientLeft' | 'received' | 'limitPassed';

/** The progress of a stream. */
interface StreamProgress {
  /** Whether its first event has come, other than an error. */
  readonly hasBegun: boolean;
  /** Whether an end of its output has been seen. */
  readonly hasOutputEnd: boolean;
}

export type OnClientAbort = 'cancel' | 'drain';

export function nextAbortState(
  state: AbortState,
  event: AbortEvent,
  progress: StreamProgress,
  onClientAbort: OnClientAbort,
): AbortState {
  switch (state) {
    case 'serving':
      if (event !== 'clientLeft') return 'serving';
      return onClientAbort === 'drain' ? 'awaitingEnd' : afterProgress(progress);
    case 'awaitingFirstEvent':
      return event === 'limitPassed' ? 'cancelled' : afterProgress(progress);
    case 'awaitingRest':
      return event === 'limitPassed' ? 'cancelled' : 'awaitingRest';
    case 'awaitingEnd':
    case 'cancelled':
      return state;
  }
}

function afterProgress({ hasBegun, hasOutputEnd }: StreamProgress): AbortState {
  if (hasOutputEnd) return 'awaitingRest';
  return hasBegun ? 'cancelled' : 'awaitingFirstEvent';
}

/** How long a stream is awaited after its client has left, and how many more bytes. */
export interface AbortLimits {
  readonly restMs: number;
  /** In addition to the bytes received before: the end of a stream may repeat all of them. */
  readonly restBytes: number;
}

export const ABORT_LIMITS: AbortLimits = { restMs: 30_000, restBytes: 1024 * 1024 };

/** `receivedBytes`: of the provider's stream, before the state began. */
interface KnownAtAbort {
  readonly receivedBytes: number;
  readonly firstByteMs: number;
}

interface AbortLimit {
  readonly timeMs: number;
  readonly bytes: number;
}

/** The limit of a state; `null` if the state ends by itself. */
export function limitOf(
  state: AbortState,
  { restMs, restBytes }: AbortLimits,
  { receivedBytes, firstByteMs }: KnownAtAbort,
): AbortLimit | null {
  const bytes = receivedBytes + restBytes;
  if (state === 'awaitingFirstEvent') return { timeMs: firstByteMs, bytes };
  return state === 'awaitingRest' ? { timeMs: restMs, bytes } : null;
}

/** Awaits the rest of a stream whose client has left, within its limits. */
export class ClientAbort {
  readonly #progress: StreamProgress;
  readonly #onClientAbort: OnClientAbort;
  readonly #limits: AbortLimits & KnownAtAbort;
  readonly #cancel: () => void;
  #state: AbortState = 'serving';
  #bytesMax = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    progress: StreamProgress,
    onClientAbort: OnClientAbort,
    limits: AbortLimits & KnownAtAbort,
    cancel: () => void,
  ) {
    this.#progress = progress;
    this.#onClientAbort = onClientAbort;
    this.#limits = limits;
    this.#cancel = cancel;
    this.#step('clientLeft');
  }

  get isCancelled(): boolean {
    return this.#state === 'cancelled';
  }

  /** A part has come; `receivedBytes` is the size of all parts. */
  received(receivedBytes: number): void {
    this.#step(receivedBytes > this.#bytesMax ? 'limitPassed' : 'received', receivedBytes);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #step(event: AbortEvent, receivedBytes = this.#limits.receivedBytes): void {
    const state = nextAbortState(this.#state, event, this.#progress, this.#onClientAbort);
    if (state === this.#state) return;
    this.#state = state;
    clearTimeout(this.#timer);
    if (state === 'cancelled') this.#cancel();
    const limit = limitOf(state, this.#limits, { ...this.#limits, receivedBytes });
    if (limit === null) return;
    this.#bytesMax = limit.bytes;
    this.#timer = setTimeout(() => this.#step('limitPassed'), limit.timeMs);
  }
}
