import { FairQueue } from '../../lib/fair/fair-queue.ts';
import { type Share, type ShareHolder, Shares } from '../../lib/fair/shares.ts';

/** How many calls a provider takes at a time, and how many more may wait. */
interface GateLimits {
  /** Calls under way at a time. */
  readonly callsMax: number;
  /** Calls that wait for one of those to end. */
  readonly queueLength: number;
  /** How long each of them waits at most. */
  readonly queueWaitMs: number;
}

/** Called once with the result for a call at the gate. Either may come before `enter` has returned. */
interface Entrant {
  /** It is this call's turn. `leave` ends it, and may be called again. */
  admitted(leave: () => void): void;
  /** There is no place in the queue for it, or it has waited for as long as it may, or the gate has closed. */
  refused(): void;
}

/**
 * Lets a limited number of calls at a time through to a provider; the others wait, bounded in number and time. A
 * connection pool alone would let any number wait for any time.
 *
 * Accounts share the calls under way and the queue, and waiting calls are served by turns of accounts. So an account
 * that takes all that it gets leaves the last eighth of both to the others, and each of them waits for one of its calls
 * at most.
 */
export class ConnectionGate {
  readonly #queueWaitMs: number;
  readonly #underWay: Shares;
  readonly #queuePlaces: Shares;
  readonly #waiting = new FairQueue<Waiter>();
  /** Places that waiting calls are about to get. */
  #handOvers = 0;
  #isClosed = false;
  #callsRefused = 0;

  constructor({ callsMax, queueLength, queueWaitMs }: GateLimits) {
    this.#queueWaitMs = queueWaitMs;
    this.#underWay = new Shares(callsMax);
    this.#queuePlaces = new Shares(queueLength);
  }

  get callsUnderWay(): number {
    return this.#underWay.used;
  }

  get callsWaiting(): number {
    return this.#waiting.size;
  }

  /** Calls that found no place in the queue, or waited in it for as long as they may. */
  get callsRefused(): number {
    return this.#callsRefused;
  }

  /** Returns a function that gives up the place in the queue; it does nothing once the call was admitted or refused. */
  enter(account: ShareHolder, entrant: Entrant): () => void {
    if (this.#isClosed) {
      entrant.refused();
      return nothing;
    }
    // No call overtakes the waiting ones; if no place is handed over, none of them may have the free one.
    const place = this.#handOvers === 0 ? this.#underWay.take(account, 1) : null;
    if (place !== null) {
      this.#admit(entrant, place);
      return nothing;
    }
    const queuePlace = this.#queuePlaces.take(account, 1);
    if (queuePlace === null) {
      this.#callsRefused++;
      entrant.refused();
      return nothing;
    }
    const waiter: Waiter = {
      account,
      entrant,
      queuePlace,
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

  /** Refuses waiting and later calls. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiting.clear()) {
      leaveQueue(waiter);
      waiter.entrant.refused();
    }
  }

  #admit(entrant: Entrant, place: Share): void {
    let isUnderWay = true;
    entrant.admitted(() => {
      if (!isUnderWay) return;
      isUnderWay = false;
      place.release();
      if (this.#waiting.size === 0) return;
      this.#handOvers++;
      // A call ends inside the pool's reading of a connection, if no other request can be begun.
      queueMicrotask(() => this.#handOver());
    });
  }

  #handOver(): void {
    this.#handOvers--;
    let place: Share | null = null;
    const getsPlace = ({ account }: Waiter): boolean => {
      place = this.#underWay.take(account, 1);
      return place !== null;
    };
    // One place may let two in: an account that has given one back may be within its share again.
    for (let next = this.#waiting.shift(getsPlace); next !== undefined; next = this.#waiting.shift(getsPlace)) {
      leaveQueue(next);
      this.#admit(next.entrant, place!);
    }
  }
}

interface Waiter {
  readonly account: ShareHolder;
  readonly entrant: Entrant;
  readonly queuePlace: Share;
  readonly timer: NodeJS.Timeout;
}

function leaveQueue({ timer, queuePlace }: Waiter): void {
  clearTimeout(timer);
  queuePlace.release();
}

const nothing = (): void => undefined;
