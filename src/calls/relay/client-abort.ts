/**
 * What becomes of a provider's stream when its client goes away (`docs/client-aborts.md`). A pure decision: the relay says
 * what happened and how far the stream is, and acts on the state that comes of it.
 *
 *   serving ── the client leaves ─▶ awaitingEnd         where the stream is read to its end: images, and `drain`
 *                                 ▶ awaitingRest        where an end of the output was seen: the usage is to come
 *                                 ▶ awaitingFirstEvent  where nothing has come yet: the provider has the prompt
 *                                 ▶ cancelled           else
 *   awaitingFirstEvent ── an event ─▶ awaitingRest, cancelled
 *   awaitingFirstEvent, awaitingRest ── their limit ─▶ cancelled
 */
export type AbortState = 'serving' | 'awaitingFirstEvent' | 'awaitingRest' | 'awaitingEnd' | 'cancelled';

/**
 * - `clientLeft`: its connection is closed.
 * - `received`: more of the stream has come.
 * - `limitPassed`: the time or the bytes that a state may take are used up.
 */
export type AbortEvent = 'clientLeft' | 'received' | 'limitPassed';

/** How far a stream is. */
export interface StreamProgress {
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

/** How long, and how much more of a stream, is awaited for a client that has left. */
export interface AbortLimits {
  readonly restMs: number;
  /** Beside what was received before: the end of a stream may repeat all of it. */
  readonly restBytes: number;
}

export const ABORT_LIMITS: AbortLimits = { restMs: 30_000, restBytes: 1024 * 1024 };

export interface AbortLimit {
  readonly timeMs: number;
  readonly bytes: number;
}

/** What a state may take; `null` where it ends by itself. `receivedBytes`: before the client left. */
export function limitOf(
  state: AbortState,
  { restMs, restBytes }: AbortLimits,
  { receivedBytes, firstByteMs }: { readonly receivedBytes: number; readonly firstByteMs: number },
): AbortLimit | null {
  const bytes = receivedBytes + restBytes;
  if (state === 'awaitingFirstEvent') return { timeMs: firstByteMs, bytes };
  return state === 'awaitingRest' ? { timeMs: restMs, bytes } : null;
}
