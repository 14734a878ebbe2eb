/**
 * What happens to a provider's stream when its client has left (`docs/client-aborts.md`):
 *
 *   the client leaves ─▶ awaitingEnd         if the stream is always read to its end: images, and models with `drain`
 *                     ▶ awaitingRest        if the output is complete and only usage is missing
 *                     ▶ awaitingFirstEvent  if nothing has arrived: the provider processes the prompt
 *                     ▶ cancelled           otherwise
 *   awaitingFirstEvent ── an event ─▶ awaitingRest, cancelled
 *   awaitingFirstEvent, awaitingRest ── limit of time or bytes ─▶ cancelled
 */
type AbortState = 'awaitingFirstEvent' | 'awaitingRest' | 'awaitingEnd' | 'cancelled';

interface StreamProgress {
  /** False if the first event is an error. */
  readonly hasBegun: boolean;
  readonly hasOutputEnd: boolean;
}

export type OnClientAbort = 'cancel' | 'drain';

/** Limits on reading a stream after its client has left. */
export interface AbortLimits {
  readonly restMs: number;
  /** Maximum bytes that are read after the client left, such as a terminal event that repeats the whole output. */
  readonly restBytes: number;
}

export const ABORT_LIMITS: AbortLimits = { restMs: 30_000, restBytes: 1024 * 1024 };

export class ClientAbort {
  readonly #progress: StreamProgress;
  readonly #limits: AbortLimits & { readonly firstByteMs: number };
  readonly #cancel: () => void;
  #state: AbortState | null = null;
  #bytesMax = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** @param receivedBytes size of the stream when the client left */
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

  /** @param receivedBytes size of the stream so far */
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
