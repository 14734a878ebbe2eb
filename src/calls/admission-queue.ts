/**
 * Calls that wait for their turn at the concurrency limit of their account, in order of arrival (design 8). A waiting call
 * is woken when a call of its account ends on this node, and looks by itself from time to time, because those of other
 * nodes end unheard.
 */
export interface AdmissionQueue {
  /** A call has arrived; answers its place among all calls, which it keeps while it asks whether there is room. */
  arrive(): number;
  /** The limits of the account's queue where calls are waiting in it, so that another one has to queue up behind them. */
  limitsOf(accountId: string): QueueLimits | null;
  /**
   * Queues a call up, to be attempted each time that it is at the front and there may be room.
   *
   * @throws what the attempt throws.
   */
  wait(accountId: string, limits: QueueLimits, call: WaitingCall): Promise<QueueResult>;
  /** How many calls of the account stand in its queue. */
  waiting(accountId: string): number;
  /** A call of the account has ended. */
  ended(accountId: string): void;
  /** Sends away all who wait, and whoever comes from now on: the process is about to end. */
  close(): void;
}

export interface QueueLimits {
  readonly length: number;
  readonly waitMs: number;
}

export interface WaitingCall {
  /** What `arrive` answered. */
  readonly place: number;
  /** Answers whether the wait is over, whatever came of it. */
  attempt(): Promise<boolean>;
  /** Tells when the client gives up; the last listener counts. */
  onGone(listener: () => void): void;
}

/** `full`: too many wait already. `late`: the time is over. `left`: the client gave up. `closed`: this node is closing. */
export type QueueResult = 'through' | 'full' | 'late' | 'left' | 'closed';

/** How often the first call in a queue looks for room that other nodes made. */
const LOOK_MS = 500;

export function createAdmissionQueue(): AdmissionQueue {
  const queues = new Map<string, { readonly limits: QueueLimits; readonly waiters: Waiter[] }>();
  let isClosed = false;
  let arrivals = 0;

  function leave(accountId: string, waiter: Waiter): void {
    const { waiters } = queues.get(accountId)!;
    const wasFirst = waiters[0] === waiter;
    waiters.splice(waiters.indexOf(waiter), 1);
    if (waiters.length === 0) queues.delete(accountId);
    else if (wasFirst) waiters[0]!.wake();
  }

  return {
    arrive: () => arrivals++,
    limitsOf: (accountId) => queues.get(accountId)?.limits ?? null,
    waiting: (accountId) => queues.get(accountId)?.waiters.length ?? 0,
    ended: (accountId) => queues.get(accountId)?.waiters[0]?.wake(),
    close() {
      isClosed = true;
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.giveUp('closed');
    },
    async wait(accountId, limits, call) {
      const queue = queues.get(accountId) ?? { limits, waiters: [] };
      const { waiters } = queue;
      if (waiters.length >= limits.length) return 'full';
      if (isClosed) return 'closed';
      const waiter = new Waiter(call.place);
      // One that came later may be here already: it had no need to ask, because somebody was waiting.
      const behind = waiters.findLastIndex(({ place }) => place < call.place);
      waiters.splice(behind + 1, 0, waiter);
      queues.set(accountId, queue);
      const timer = setTimeout(() => waiter.giveUp('late'), limits.waitMs);
      const look = setInterval(() => waiter.wake(), LOOK_MS);
      try {
        // The call that it waits for may have ended between its refusal and now.
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
        clearInterval(look);
        leave(accountId, waiter);
      }
    },
  };
}

/** Something that sleeps until it is woken; a wake while it is awake is remembered. */
class Waiter {
  readonly place: number;
  #end: 'late' | 'left' | 'closed' | null = null;
  #isWoken = false;
  #resolve: (() => void) | null = null;

  constructor(place: number) {
    this.place = place;
  }

  /** Why it waits no longer; the first reason counts. */
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
