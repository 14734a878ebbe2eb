/** How many calls a provider takes at a time, and what becomes of the others. */
export interface GateLimits {
  /** Calls under way at a time. */
  readonly callsMax: number;
  /** Calls that wait for one of those to end. */
  readonly queueLength: number;
  /** How long each of them waits at most. */
  readonly queueWaitMs: number;
}

/** Told once what becomes of a call at the gate. Either may come before `enter` has returned. */
export interface Entrant {
  /** It is this call's turn. `leave` ends it, and may be called again. */
  admitted(leave: () => void): void;
  /** As many calls as may wait do so already, or this one has waited for as long as it may, or the gate has closed. */
  refused(): void;
}

/**
 * Lets so many calls at a time through to a provider. The others wait in order of arrival, bounded in number and time. A
 * connection pool alone would let any number wait for any time.
 */
export class ConnectionGate {
  readonly #limits: GateLimits;
  readonly #waiting = new Set<Waiter>();
  #under = 0;
  #isClosed = false;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  /** Calls under way. */
  get callsUnderWay(): number {
    return this.#under;
  }

  get callsWaiting(): number {
    return this.#waiting.size;
  }

  /** Answers how to give the place in the queue up; it does nothing once the call has been told. */
  enter(entrant: Entrant): () => void {
    const { callsMax, queueLength, queueWaitMs } = this.#limits;
    if (this.#isClosed) {
      entrant.refused();
      return nothing;
    }
    // Nobody overtakes those who wait.
    if (this.#under < callsMax && this.#waiting.size === 0) {
      this.#admit(entrant);
      return nothing;
    }
    if (this.#waiting.size >= queueLength) {
      entrant.refused();
      return nothing;
    }
    const waiter: Waiter = {
      entrant,
      timer: setTimeout(() => {
        this.#waiting.delete(waiter);
        entrant.refused();
      }, queueWaitMs),
    };
    this.#waiting.add(waiter);
    return () => {
      clearTimeout(waiter.timer);
      this.#waiting.delete(waiter);
    };
  }

  /** Refuses those who wait and whoever comes after. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.entrant.refused();
    }
  }

  #admit(entrant: Entrant): void {
    this.#under++;
    let isUnderWay = true;
    entrant.admitted(() => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#under--;
      // A call ends inside the pool's reading of a connection, where no other request can be begun.
      if (this.#waiting.size > 0) queueMicrotask(() => this.#admitNext());
    });
  }

  #admitNext(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#under >= this.#limits.callsMax) return;
    this.#waiting.delete(next);
    clearTimeout(next.timer);
    this.#admit(next.entrant);
  }
}

interface Waiter {
  readonly entrant: Entrant;
  readonly timer: NodeJS.Timeout;
}

const nothing = (): void => undefined;
