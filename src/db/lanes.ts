import type { ConnectionFigures, Lane, LaneName } from './database.ts';
import { LaneFullError } from './errors.ts';

/**
 * Lanes: connections of their own for statements that no call waits for, so that they and calls do not keep each other
 * waiting. Each has limits. The embedded engine has one session, so there a lane has one statement in the session's queue at
 * a time: a call waits for one of each at most.
 */
export interface LaneLimits {
  /** Statements and transactions at a time; on the embedded engine there is one. */
  readonly connectionsMax: number;
  /** Further ones that may wait; one more is refused with `LaneFullError`. */
  readonly waitingMax: number;
  /** PostgreSQL only: a statement that takes longer fails. */
  readonly statementMaxMs: number;
  /** PostgreSQL only: a lock that is not free in that time fails the statement. Whoever wants it later waits behind us. */
  readonly lockMaxMs: number;
}

export const LANES: Readonly<Record<LaneName, LaneLimits>> = {
  /** What holders of keys ask of their balance and plan. */
  balances: { connectionsMax: 2, waitingMax: 256, statementMaxMs: 2_000, lockMaxMs: 2_000 },
  /** The admin API: lists, accounts, keys, top-ups, subscriptions. */
  admin: { connectionsMax: 3, waitingMax: 64, statementMaxMs: 10_000, lockMaxMs: 5_000 },
  /** `/readyz`, which asks once for all who want to know. */
  probes: { connectionsMax: 1, waitingMax: 1, statementMaxMs: 1_000, lockMaxMs: 1_000 },
  /** Partitions, and deletions of what has expired. */
  housekeeping: { connectionsMax: 1, waitingMax: 16, statementMaxMs: 5_000, lockMaxMs: 200 },
  /** What is due to be told, and its deliveries: more wait than are sent at a time. */
  notices: { connectionsMax: 1, waitingMax: 128, statementMaxMs: 5_000, lockMaxMs: 1_000 },
};

/** An audit reads whole tables, in slices: one at a time, and so many may wait. */
export const AUDITS_WAITING_MAX = 4;
/** A slice takes some milliseconds, or a second where nothing of it is in memory. */
export const AUDIT_STATEMENT_MAX_MS = 60_000;

const LANE_NAMES = Object.keys(LANES) as readonly LaneName[];

/** Work that runs a few at a time, the rest in the order in which it came. */
export class Turns {
  readonly #name: string;
  readonly #atOnceMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #begun = 0;
  #waitedMs = 0;
  #refused = 0;

  constructor(name: string, atOnceMax: number, waitingMax: number) {
    this.#name = name;
    this.#atOnceMax = atOnceMax;
    this.#waitingMax = waitingMax;
  }

  get figures(): ConnectionFigures {
    return {
      name: this.#name,
      used: this.#running,
      connectionsMax: this.#atOnceMax,
      waiting: this.#waiting.length,
      begun: this.#begun,
      waitedMs: this.#waitedMs,
      refused: this.#refused,
    };
  }

  /** @throws LaneFullError */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnceMax) {
      if (this.#waiting.length >= this.#waitingMax) {
        this.#refused++;
        throw new LaneFullError(this.#name, this.#waitingMax);
      }
      const askedAtMs = performance.now();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#waitedMs += performance.now() - askedAtMs;
    } else this.#running++;
    this.#begun++;
    try {
      return await work();
    } finally {
      // Its place goes to the next one.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/** A lane of limited length. */
export interface LimitedLane extends Lane {
  readonly figures: ConnectionFigures;
}

export function createLane(name: LaneName, atOnceMax: number, target: Lane): LimitedLane {
  const turns = new Turns(name, atOnceMax, LANES[name].waitingMax);
  return {
    query: (statement, parameters) => turns.run(() => target.query(statement, parameters)),
    transaction: (work) => turns.run(() => target.transaction(work)),
    get figures() {
      return turns.figures;
    },
  };
}

export interface Lanes {
  get(name: LaneName): Lane;
  figures(): readonly ConnectionFigures[];
}

/** Lanes by name, each made of what runs its statements. */
export function createLanes(make: (name: LaneName) => LimitedLane): Lanes {
  const lanes = new Map(LANE_NAMES.map((name) => [name, make(name)]));
  return { get: (name) => lanes.get(name)!, figures: () => [...lanes.values()].map(({ figures }) => figures) };
}
