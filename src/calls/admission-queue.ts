interface QueueLimits {
  readonly length: number;
  readonly waitMs: number;
}

interface WaitingCall {
  readonly place: number;
  /** Tries the admission; returns whether the wait is over, because the call was admitted or refused. */
  attempt(): Promise<boolean>;
  /** Sets the listener that runs when the client leaves. It replaces an earlier listener. */
  onGone(listener: () => void): void;
}

/** `full`: too many calls wait. `late`: the maximum wait is over. `left`: the client left. `closed`: this node is closing. */
export type QueueResult = 'through' | 'full' | 'late' | 'left' | 'closed';

/** Interval at which the first call in a queue tries again, because a call on another node may have ended. */
const RETRY_MS = 500;

export type AdmissionQueue = ReturnType<typeof createAdmissionQueue>;

/**
 * The queues of calls at a concurrency limit. Calls wait in the order of arrival. They try again when a call ends on this node, and at intervals,
 * because calls on other nodes may have ended.
 */
export function createAdmissionQueue() {
  const queues = new Map<string, { readonly limits: QueueLimits; readonly waiters: Waiter[] }>();
  let isClosed = false;
  let arrivals = 0;
  let size = 0;

  function leave(accountId: string, waiter: Waiter): void {
    const { waiters } = queues.get(accountId)!;
    const wasFirst = waiters[0] === waiter;
    waiters.splice(waiters.indexOf(waiter), 1);
    size--;
    if (waiters.length === 0) queues.delete(accountId);
    else if (wasFirst) waiters[0]!.wake();
  }

  return {
    /** Returns the place of a call in the order of arrival, which it keeps while its admission is tried. */
    arrive: (): number => arrivals++,
    /** The limits of the account's queue; `null` if no call waits in it, so that a new one need not queue. */
    limitsOf: (accountId: string): QueueLimits | null => queues.get(accountId)?.limits ?? null,
    waiting: (accountId: string): number => queues.get(accountId)?.waiters.length ?? 0,
    get size(): number {
      return size;
    },
    ended: (accountId: string): void => queues.get(accountId)?.waiters[0]?.wake(),
    /** Ends all waiting with `closed`, and refuses later calls: the process is about to stop. */
    close(): void {
      isClosed = true;
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.giveUp('closed');
    },
    /**
     * Queues a call. It is attempted whenever it is first in the queue and the limit may have capacity.
     *
     * @throws what the attempt throws
     */
    async wait(accountId: string, limits: QueueLimits, call: WaitingCall): Promise<QueueResult> {
      const queue = queues.get(accountId) ?? { limits, waiters: [] };
      const { waiters } = queue;
      if (waiters.length >= limits.length) return 'full';
      if (isClosed) return 'closed';
      const waiter = new Waiter(call.place);
      // A call that arrived later may already be in the queue, because calls that arrive while others wait are queued without an attempt.
      const behind = waiters.findLastIndex(({ place }) => place < call.place);
      waiters.splice(behind + 1, 0, waiter);
      size++;
      queues.set(accountId, queue);
      const timer = setTimeout(() => waiter.giveUp('late'), limits.waitMs);
      const retry = setInterval(() => waiter.wake(), RETRY_MS);
      try {
        // A call may have ended since this one was refused.
        waiter.wake();
        call.onGone(() => waiter.giveUp('left'));
        for (;;) {
          await waiter.woken();
          if (waiter.end !== null) return waiter.end;
          if (waiters[0] === waiter && (await call.attempt())) return 'through';
        }
      } finally {
        call.onGone(() => undefined);
        clearTimeout(timer);
        clearInterval(retry);
        leave(accountId, waiter);
      }
    },
  };
}

/** A waiting call, which sleeps until it is woken; a wake-up while it is awake is remembered. */
class Waiter {
  readonly place: number;
  #end: 'late' | 'left' | 'closed' | null = null;
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(place: number) {
    this.place = place;
  }

  /** Why the call no longer waits; `null` while it waits. The first reason counts. */
  get end(): 'late' | 'left' | 'closed' | null {
    return this.#end;
  }

  giveUp(reason: 'late' | 'left' | 'closed'): void {
    this.#end ??= reason;
    this.wake();
  }

  wake(): void {
    this.#isWoken = true;
    this.#resolve?.();
  }

  async woken(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#isWoken = false;
    this.#resolve = null;
  }
}
