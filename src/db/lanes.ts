import { FairQueue } from '../lib/fair/fair-queue.ts';
import type { WorkTime } from '../lib/fair/work-time.ts';
import type { ConnectionFigures, Lane, LaneName } from './database.ts';
import { LaneFullError } from './errors.ts';
import { currentHolder, currentWorkTime } from './lane-holder.ts';

/**
 * Lanes: connections of their own for statements that no call waits for, so that they and calls do not keep each other
 * waiting. Each has limits.
 */
interface LaneLimits {
  /** Statements and transactions at a time. */
  readonly connectionsMax: number;
  /** Further ones that may wait, and more of holders; one more is refused with `LaneFullError`. */
  readonly waitingMax: number;
  /** A statement that takes longer fails. */
  readonly statementMaxMs: number;
  /** A lock that is not free in that time fails the statement: later requests for the lock queue after this one. */
  readonly lockMaxMs: number;
}

export const LANES: Readonly<Record<LaneName, LaneLimits>> = {
  /** What holders of keys ask of their balance and plan. */
  balances: { connectionsMax: 2, waitingMax: 256, statementMaxMs: 2_000, lockMaxMs: 2_000 },
  /** The admin API: lists, accounts, keys, top-ups, subscriptions. */
  admin: { connectionsMax: 4, waitingMax: 64, statementMaxMs: 10_000, lockMaxMs: 5_000 },
  /** `/readyz`, which asks once for all who want to know. */
  probes: { connectionsMax: 1, waitingMax: 1, statementMaxMs: 1_000, lockMaxMs: 1_000 },
  /** Months of call records, and deletions of what has expired. */
  housekeeping: { connectionsMax: 1, waitingMax: 16, statementMaxMs: 5_000, lockMaxMs: 200 },
  /** What is due to be told, and its deliveries: more wait than are sent at a time. */
  notices: { connectionsMax: 1, waitingMax: 128, statementMaxMs: 5_000, lockMaxMs: 1_000 },
};

/** Connections to a server for single statements that calls wait for, such as look-ups of keys. */
export const STATEMENT_CONNECTIONS_MAX = 10;

/** An audit reads whole tables, in slices: one at a time, and so many may wait. */
export const AUDITS_WAITING_MAX = 4;
/** A slice takes some milliseconds, or a second if nothing of it is in memory. */
export const AUDIT_STATEMENT_MAX_MS = 60_000;

export const LANE_NAMES = Object.keys(LANES) as readonly LaneName[];

/** So many times as many may wait for holders: an office behind one address opens the console at nine. */
const HELD_TIMES = 16;
/** The part of those that may be one holder's. */
const HOLDER_PART = 1 / 4;

interface Holder {
  running: number;
  waiting: number;
}

interface HeldTurn {
  readonly holder: string;
  readonly begin: () => void;
}

/**
 * Work that runs a few at a time. Of the rest, that of nobody (operators, the gateway itself) comes first, in the order in which it
 * came, and that of holders by turns of them. If there are several places, holders leave one to operators, and each holder one
 * to others, so that one whose statements hang keeps nobody else out.
 */
export class Turns {
  readonly #name: string;
  readonly #atOnceMax: number;
  readonly #heldAtOnceMax: number;
  readonly #holderAtOnceMax: number;
  readonly #waitingMax: number;
  readonly #heldWaitingMax: number;
  readonly #waiting: (() => void)[] = [];
  readonly #held = new FairQueue<HeldTurn>();
  /** Those that run or wait. */
  readonly #holders = new Map<string, Holder>();
  #running = 0;
  #heldRunning = 0;
  #begun = 0;
  #waitedMs = 0;
  #refused = 0;

  constructor(name: string, atOnceMax: number, waitingMax: number, heldWaitingMax = HELD_TIMES * waitingMax) {
    this.#name = name;
    this.#atOnceMax = atOnceMax;
    this.#heldAtOnceMax = Math.max(1, atOnceMax - 1);
    this.#holderAtOnceMax = Math.max(1, atOnceMax - 2);
    this.#waitingMax = waitingMax;
    this.#heldWaitingMax = heldWaitingMax;
  }

  get figures(): ConnectionFigures {
    return {
      name: this.#name,
      used: this.#running,
      connectionsMax: this.#atOnceMax,
      waiting: this.#waiting.length + this.#held.size,
      begun: this.#begun,
      waitedMs: this.#waitedMs,
      refused: this.#refused,
    };
  }

  /**
   * @param time of the work that this is a part of, to which waiting here does not count.
   * @throws LaneFullError
   */
  async run<Result>(
    work: () => Promise<Result>,
    holder: string | null = null,
    time: WorkTime | null = null,
  ): Promise<Result> {
    if (this.#mayBegin(holder)) {
      this.#begin(holder);
      time?.ask();
    } else {
      this.#requireRoom(holder);
      time?.ask();
      time?.wait();
      const askedAtMs = performance.now();
      await new Promise<void>((resolve) => this.#wait(holder, resolve));
      this.#waitedMs += performance.now() - askedAtMs;
      time?.goOn();
    }
    this.#begun++;
    try {
      return await work();
    } finally {
      time?.end();
      this.#end(holder);
      this.#serve();
    }
  }

  #mayBegin(holder: string | null): boolean {
    if (this.#running >= this.#atOnceMax) return false;
    if (holder === null) return true;
    const ofHolder = this.#holders.get(holder)?.running ?? 0;
    return this.#heldRunning < this.#heldAtOnceMax && ofHolder < this.#holderAtOnceMax;
  }

  #begin(holder: string | null): void {
    this.#running++;
    if (holder === null) return;
    this.#heldRunning++;
    this.#holderOf(holder).running++;
  }

  #end(holder: string | null): void {
    this.#running--;
    if (holder === null) return;
    this.#heldRunning--;
    const of = this.#holderOf(holder);
    of.running--;
    if (of.running === 0 && of.waiting === 0) this.#holders.delete(holder);
  }

  /** @throws LaneFullError */
  #requireRoom(holder: string | null): void {
    const isFull =
      holder === null
        ? this.#waiting.length >= this.#waitingMax
        : this.#held.size >= this.#heldWaitingMax ||
          (this.#holders.get(holder)?.waiting ?? 0) >= this.#heldWaitingMax * HOLDER_PART;
    if (!isFull) return;
    this.#refused++;
    throw new LaneFullError(this.#name, this.#waitingMax);
  }

  #wait(holder: string | null, begin: () => void): void {
    if (holder === null) {
      this.#waiting.push(begin);
      return;
    }
    this.#holderOf(holder).waiting++;
    this.#held.push(holder, { holder, begin });
  }

  #serve(): void {
    if (this.#waiting.length > 0 && this.#mayBegin(null)) {
      this.#begin(null);
      this.#waiting.shift()!();
      return;
    }
    const next = this.#held.shift(({ holder }) => this.#mayBegin(holder));
    if (next === undefined) return;
    this.#holderOf(next.holder).waiting--;
    this.#begin(next.holder);
    next.begin();
  }

  #holderOf(name: string): Holder {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { running: 0, waiting: 0 };
      this.#holders.set(name, holder);
    }
    return holder;
  }
}

/** The turns of lanes by name, and how much of each runs at a time. */
export type LaneTurns = ReadonlyMap<LaneName, Turns>;

export const createLaneTurns = (atOnceMax: (name: LaneName) => number): LaneTurns =>
  new Map(LANE_NAMES.map((name) => [name, new Turns(name, atOnceMax(name), LANES[name].waitingMax)]));

/** Lanes by name, each of which runs what its target runs, by turns. Lanes of several schemas may share them. */
export function createLanes(turns: LaneTurns, targetOf: (name: LaneName) => Lane): (name: LaneName) => Lane {
  const lanes = new Map(LANE_NAMES.map((name) => [name, laneOf(turns.get(name)!, targetOf(name))]));
  return (name) => lanes.get(name)!;
}

const laneOf = (turns: Turns, target: Lane): Lane => ({
  query: (statement, parameters) =>
    turns.run(() => target.query(statement, parameters), currentHolder(), currentWorkTime()),
  transaction: (work) => turns.run(() => target.transaction(work), currentHolder(), currentWorkTime()),
  transactionWithDirectory: (work) =>
    turns.run(() => target.transactionWithDirectory(work), currentHolder(), currentWorkTime()),
});
