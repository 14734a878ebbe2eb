interface QueueLimits {
  readonly length: number;
  readonly waitMs: number;
}

interface WaitingCall {
  readonly place: number;
  /** Tries to admit the call. Returns false if the call must continue to wait, true if it was admitted or refused. */
  attempt(): Promise<boolean>;
  onGone(listener: () => void): void;
}

/** `full`: too many calls wait. `late`: the maximum wait is over. `left`: the client left. `closed`: this node is closing. */
export type QueueResult = 'through' | 'full' | 'late' | 'left' | 'closed';

const RETRY_MS = 500;

export type AdmissionQueue = ReturnType<typeof createAdmissionQueue>;

/**
 * Queues of calls at a concurrency limit, one per account, in the order of arrival. The first call of a queue retries when a call ends on
 * this node, and every `RETRY_MS`.
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
    /** Returns the next place in the order of arrival. A call takes its place before its first attempt at admission. */
    arrive: (): number => arrivals++,
    /** `null` if no call of the account waits. */
    limitsOf: (accountId: string): QueueLimits | null => queues.get(accountId)?.limits ?? null,
    waiting: (accountId: string): number => queues.get(accountId)?.waiters.length ?? 0,
    get size(): number {
      return size;
    },
    ended: (accountId: string): void => queues.get(accountId)?.waiters[0]?.wake(),
    /** From now on, every wait ends with `closed`, also that of later calls. */
    close(): void {
      isClosed = true;
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.giveUp('closed');
    },
    /** Tries to admit the call whenever it is first in the queue. @throws the error of the attempt */
    async wait(accountId: string, limits: QueueLimits, call: WaitingCall): Promise<QueueResult> {
      const queue = queues.get(accountId) ?? { limits, waiters: [] };
      const { waiters } = queue;
      if (waiters.length >= limits.length) return 'full';
      if (isClosed) return 'closed';
      const waiter = new Waiter(call.place);
      // Calls that arrived later can be in the queue already, because they join it without an attempt while other calls wait.
      const behind = waiters.findLastIndex(({ place }) => place < call.place);
      waiters.splice(behind + 1, 0, waiter);
      size++;
      queues.set(accountId, queue);
      const timer = setTimeout(() => waiter.giveUp('late'), limits.waitMs);
      const retry = setInterval(() => waiter.wake(), RETRY_MS);
      try {
        // Between the refusal of this call and now, another call may have ended.
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

/** A queued call. It sleeps until it is woken. A wake-up while it is awake is remembered. */
class Waiter {
  readonly place: number;
  #end: 'late' | 'left' | 'closed' | null = null;
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(place: number) {
    this.place = place;
  }

  /** Why the wait ended; `null` while it continues. The first reason is kept. */
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
