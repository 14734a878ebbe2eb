interface QueueLimits {
  readonly length: number;
  readonly waitMs: number;
}

interface WaitingCall {
  readonly place: number;
  /** Returns true if the call was admitted or refused, so the wait is over. */
  attempt(): Promise<boolean>;
  onGone(listener: () => void): void;
}

/** `full`: too many calls wait. `late`: the maximum wait is over. `left`: the client left. `closed`: this node is closing. */
export type QueueResult = 'through' | 'full' | 'late' | 'left' | 'closed';

const RETRY_MS = 500;

export type AdmissionQueue = ReturnType<typeof createAdmissionQueue>;

/**
 * Queues of calls at a concurrency limit, in the order of arrival. The first call of a queue retries when a call ends on this node, and
 * every `RETRY_MS`.
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
    /** A call keeps its place while its first admission is tried. */
    arrive: (): number => arrivals++,
    /** `null` if no call of the account waits. */
    limitsOf: (accountId: string): QueueLimits | null => queues.get(accountId)?.limits ?? null,
    waiting: (accountId: string): number => queues.get(accountId)?.waiters.length ?? 0,
    get size(): number {
      return size;
    },
    ended: (accountId: string): void => queues.get(accountId)?.waiters[0]?.wake(),
    /** Waiting and later calls end with `closed`. */
    close(): void {
      isClosed = true;
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.giveUp('closed');
    },
    /** Attempts the call whenever it is first in the queue and the limit may have capacity. @throws the error of the attempt */
    async wait(accountId: string, limits: QueueLimits, call: WaitingCall): Promise<QueueResult> {
      const queue = queues.get(accountId) ?? { limits, waiters: [] };
      const { waiters } = queue;
      if (waiters.length >= limits.length) return 'full';
      if (isClosed) return 'closed';
      const waiter = new Waiter(call.place);
      // A call that arrived later may already be in the queue: while calls wait, new ones are queued without an attempt.
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

/** A waiter sleeps until it is woken. A wake-up while it is awake is remembered. */
class Waiter {
  readonly place: number;
  #end: 'late' | 'left' | 'closed' | null = null;
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(place: number) {
    this.place = place;
  }

  /** The first reason counts. */
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
