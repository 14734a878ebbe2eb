/**
 * What happens to a provider's stream when its client has left (`docs/client-aborts.md`):
 *
 *   the client leaves ─▶ awaitingEnd         if the stream is read to its end: images, and `drain`
 *                     ▶ awaitingRest        if an end of the output was seen: the usage follows
 *                     ▶ awaitingFirstEvent  if nothing has come: the provider works on the prompt
 *                     ▶ cancelled           otherwise
 *   awaitingFirstEvent ── an event ─▶ awaitingRest, cancelled
 *   awaitingFirstEvent, awaitingRest ── limit of time or bytes ─▶ cancelled
 */
type AbortState = 'awaitingFirstEvent' | 'awaitingRest' | 'awaitingEnd' | 'cancelled';

/** The progress of a stream. */
interface StreamProgress {
  /** Whether its first event has come, other than an error. */
  readonly hasBegun: boolean;
  /** Whether an end of its output has been seen. */
  readonly hasOutputEnd: boolean;
}

export type OnClientAbort = 'cancel' | 'drain';

/** How long a stream is awaited after its client has left, and how many more bytes. */
export interface AbortLimits {
  readonly restMs: number;
  /** In addition to the bytes received before: the end of a stream may repeat all of them. */
  readonly restBytes: number;
}

export const ABORT_LIMITS: AbortLimits = { restMs: 30_000, restBytes: 1024 * 1024 };

/** Awaits the rest of a stream whose client has left. */
export class ClientAbort {
  readonly #progress: StreamProgress;
  readonly #limits: AbortLimits & { readonly firstByteMs: number };
  readonly #cancel: () => void;
  #state: AbortState | null = null;
  #bytesMax = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** `receivedBytes`: of the stream, before the client left. */
  constructor(
    progress: StreamProgress,
    receivedBytes: number,
    onClientAbort: OnClientAbort,
    limits: AbortLimits & { readonly firstByteMs: number },
    cancel: () => void,
  ) {
    this.#progress = progress;
    this.#limits = limits;
    this.#cancel = cancel;
    this.#enter(onClientAbort === 'drain' ? 'awaitingEnd' : this.#afterProgress(), receivedBytes);
  }

  get state(): AbortState {
    return this.#state!;
  }

  /** A part of the stream has come; `receivedBytes` is the size of all parts. */
  received(receivedBytes: number): void {
    if (receivedBytes > this.#bytesMax) this.#enter('cancelled', receivedBytes);
    else if (this.#state === 'awaitingFirstEvent') this.#enter(this.#afterProgress(), receivedBytes);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #afterProgress(): AbortState {
    if (this.#progress.hasOutputEnd) return 'awaitingRest';
    return this.#progress.hasBegun ? 'cancelled' : 'awaitingFirstEvent';
  }

  #enter(state: AbortState, receivedBytes: number): void {
    if (state === this.#state) return;
    this.#state = state;
    this.stop();
    if (state === 'cancelled') this.#cancel();
    if (state === 'cancelled' || state === 'awaitingEnd') return;
    const { restMs, restBytes, firstByteMs } = this.#limits;
    this.#bytesMax = receivedBytes + restBytes;
    const limitMs = state === 'awaitingRest' ? restMs : firstByteMs;
    this.#timer = setTimeout(() => this.#enter('cancelled', receivedBytes), limitMs);
  }
}
