import { FairQueue } from '../../lib/fair/fair-queue.ts';
import { type Share, Shares, type Tenant } from '../../lib/fair/shares.ts';

interface GateLimits {
  readonly callsMax: number;
  readonly queueLength: number;
  readonly queueWaitMs: number;
}

/** A call that wants to start. It is admitted or refused exactly once, possibly before `enter` returns. */
interface Entrant {
  /** The caller must call `leave` when the call ends; repeated calls are ignored. */
  admitted(leave: () => void): void;
  refused(): void;
}

/**
 * Limits the concurrent calls to a provider. Further calls wait in a queue with a limited length and wait. Accounts are served in turn. A
 * single account cannot take the last eighth of the calls or of the queue, so a call of another account waits for at most one call of it.
 */
export class ConnectionGate {
  readonly #queueWaitMs: number;
  readonly #concurrentCalls: Shares;
  readonly #queueSlots: Shares;
  readonly #waiting = new FairQueue<Waiter>();
  /** Number of free slots that queued calls are about to get. */
  #handOvers = 0;
  #isClosed = false;
  #callsRefused = 0;

  constructor({ callsMax, queueLength, queueWaitMs }: GateLimits) {
    this.#queueWaitMs = queueWaitMs;
    this.#concurrentCalls = new Shares(callsMax);
    this.#queueSlots = new Shares(queueLength);
  }

  get callsInFlight(): number {
    return this.#concurrentCalls.used;
  }

  get callsWaiting(): number {
    return this.#waiting.size;
  }

  get callsRefused(): number {
    return this.#callsRefused;
  }

  enter(account: Tenant, entrant: Entrant): () => void {
    if (this.#isClosed) {
      entrant.refused();
      return nothing;
    }
    // New calls never overtake queued ones. If no handover is pending, no queued call may take the free slot.
    const slot = this.#handOvers === 0 ? this.#concurrentCalls.take(account, 1) : null;
    if (slot !== null) {
      this.#admit(entrant, slot);
      return nothing;
    }
    const queueSlot = this.#queueSlots.take(account, 1);
    if (queueSlot === null) {
      this.#callsRefused++;
      entrant.refused();
      return nothing;
    }
    const waiter: Waiter = {
      account,
      entrant,
      queueSlot,
      timer: setTimeout(() => {
        giveUp();
        this.#callsRefused++;
        entrant.refused();
      }, this.#queueWaitMs),
    };
    const queued = this.#waiting.push(account.accountId, waiter);
    const giveUp = (): void => {
      leaveQueue(waiter);
      queued.remove();
    };
    return giveUp;
  }

  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiting.clear()) {
      leaveQueue(waiter);
      waiter.entrant.refused();
    }
  }

  #admit(entrant: Entrant, slot: Share): void {
    let isInFlight = true;
    entrant.admitted(() => {
      if (!isInFlight) return;
      isInFlight = false;
      slot.release();
      if (this.#waiting.size === 0) return;
      this.#handOvers++;
      // Deferred, because the pool cannot start another request while it still reads the end of this one.
      queueMicrotask(() => this.#handOver());
    });
  }

  #handOver(): void {
    this.#handOvers--;
    let slot: Share | null = null;
    const getsSlot = ({ account }: Waiter): boolean => {
      slot = this.#concurrentCalls.take(account, 1);
      return slot !== null;
    };
    // One free slot can admit two calls: one of another account, and, from the last eighth, one of the account that returned it.
    for (let next = this.#waiting.shift(getsSlot); next !== undefined; next = this.#waiting.shift(getsSlot)) {
      leaveQueue(next);
      this.#admit(next.entrant, slot!);
    }
  }
}

interface Waiter {
  readonly account: Tenant;
  readonly entrant: Entrant;
  readonly queueSlot: Share;
  readonly timer: NodeJS.Timeout;
}

function leaveQueue({ timer, queueSlot }: Waiter): void {
  clearTimeout(timer);
  queueSlot.release();
}

const nothing = (): void => undefined;
