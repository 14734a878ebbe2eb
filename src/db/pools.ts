import { FairSlots } from '../lib/fair/fair-slots.ts';
import type { WorkTime } from '../lib/fair/work-time.ts';
import { currentTenant, currentWorkTime } from './current-tenant.ts';
import type { ConnectionFigures, DatabasePool, PoolName } from './database.ts';
import { PoolFullError } from './errors.ts';

/** Limits of a pool for statements that no call waits for. Separate pools cannot block each other or calls. */
interface PoolLimits {
  readonly connectionsMax: number;
  /** Maximum length of the operators' queue; that of tenants is longer. A full queue rejects requests with `PoolFullError`. */
  readonly waitingMax: number;
  readonly statementMaxMs: number;
  /** Maximum wait for a lock. It is short, because later requests for the same lock queue behind a waiting statement. */
  readonly lockMaxMs: number;
}

export const POOLS: Readonly<Record<PoolName, PoolLimits>> = {
  /** For balances and plans that callers read with an API key. */
  balances: { connectionsMax: 2, waitingMax: 256, statementMaxMs: 2_000, lockMaxMs: 2_000 },
  admin: { connectionsMax: 4, waitingMax: 64, statementMaxMs: 10_000, lockMaxMs: 5_000 },
  /** For `/readyz`. Concurrent probes share one statement. */
  probes: { connectionsMax: 1, waitingMax: 1, statementMaxMs: 1_000, lockMaxMs: 1_000 },
  /** For creating monthly tables of call records, and for deleting expired rows. */
  housekeeping: { connectionsMax: 1, waitingMax: 16, statementMaxMs: 5_000, lockMaxMs: 200 },
  /** For finding and delivering notices. More deliveries wait for a connection than are sent at a time. */
  notices: { connectionsMax: 1, waitingMax: 128, statementMaxMs: 5_000, lockMaxMs: 1_000 },
};

/** Maximum number of connections for single statements that calls wait for, such as key look-ups. */
export const STATEMENT_CONNECTIONS_MAX = 10;

/** Maximum number of waiting audits. One runs at a time, because it reads whole tables. */
export const AUDITS_WAITING_MAX = 4;
/** Time limit for a statement of an audit. It usually takes a second, but minutes for an account with ten million calls on disk. */
export const AUDIT_STATEMENT_MAX_MS = 600_000;

export const POOL_NAMES = Object.keys(POOLS) as readonly PoolName[];

/** How much longer the tenants' queue is than the operators': all users in an office, behind one address, may open the console at once. */
const HELD_TIMES = 16;
/** Share of the tenants' queue that a single tenant may use. */
const TENANT_SHARE = 1 / 4;

/**
 * Limits concurrent statements, fairly between tenants, with a bounded queue. Tenants together leave one slot to operators, and each tenant
 * leaves one to the others, so that a tenant's hanging statements do not block everybody else.
 */
export class Turns {
  readonly #name: string;
  readonly #atOnceMax: number;
  readonly #waitingMax: number;
  readonly #heldWaitingMax: number;
  readonly #slots: FairSlots;
  #begun = 0;
  #waitedMs = 0;
  #refused = 0;

  constructor(name: string, atOnceMax: number, waitingMax: number, heldWaitingMax = HELD_TIMES * waitingMax) {
    this.#name = name;
    this.#atOnceMax = atOnceMax;
    this.#waitingMax = waitingMax;
    this.#heldWaitingMax = heldWaitingMax;
    this.#slots = new FairSlots({
      slotsMax: atOnceMax,
      tenantsSlotsMax: Math.max(1, atOnceMax - 1),
      tenantSlotsMax: Math.max(1, atOnceMax - 2),
    });
  }

  get figures(): ConnectionFigures {
    return {
      name: this.#name,
      used: this.#slots.running,
      connectionsMax: this.#atOnceMax,
      waiting: this.#slots.waiting,
      begun: this.#begun,
      waitedMs: this.#waitedMs,
      refused: this.#refused,
    };
  }

  /**
   * Runs work when it gets a slot.
   *
   * @param tenant whose work it is; `null`: the gateway's or an operator's
   * @param time measures the work, without the wait for a slot
   * @throws PoolFullError
   */
  async run<Result>(
    work: () => Promise<Result>,
    tenant: string | null = null,
    time: WorkTime | null = null,
  ): Promise<Result> {
    if (!this.#slots.hasSlotFor(tenant)) this.#requirePlace(tenant);
    time?.ask();
    const queued = this.#slots.enter(tenant);
    if (queued !== null) {
      time?.wait();
      const askedAtMs = performance.now();
      await queued;
      this.#waitedMs += performance.now() - askedAtMs;
      time?.goOn();
    }
    this.#begun++;
    try {
      return await work();
    } finally {
      time?.end();
      this.#slots.leave(tenant);
    }
  }

  /** Checks that the queue has a place for a tenant. @throws PoolFullError */
  #requirePlace(tenant: string | null): void {
    const waiting = this.#slots.waitingOf(tenant);
    const isFull =
      tenant === null
        ? waiting >= this.#waitingMax
        : this.#slots.tenantsWaiting >= this.#heldWaitingMax || waiting >= this.#heldWaitingMax * TENANT_SHARE;
    if (!isFull) return;
    this.#refused++;
    throw new PoolFullError(this.#name, this.#waitingMax);
  }
}

type PoolQueue = ReadonlyMap<PoolName, Turns>;

export const createPoolQueues = (atOnceMax: (name: PoolName) => number): PoolQueue =>
  new Map(POOL_NAMES.map((name) => [name, new Turns(name, atOnceMax(name), POOLS[name].waitingMax)]));

/** Creates pools whose statements first pass these queues. Pools of several schemas can share the queues. */
export function createPools(
  turns: PoolQueue,
  targetOf: (name: PoolName) => DatabasePool,
): (name: PoolName) => DatabasePool {
  const pools = new Map(POOL_NAMES.map((name) => [name, poolOf(turns.get(name)!, targetOf(name))]));
  return (name) => pools.get(name)!;
}

const poolOf = (turns: Turns, target: DatabasePool): DatabasePool => ({
  query: (statement, parameters) =>
    turns.run(() => target.query(statement, parameters), currentTenant(), currentWorkTime()),
  transaction: (work) => turns.run(() => target.transaction(work), currentTenant(), currentWorkTime()),
  transactionWithDirectory: (work) =>
    turns.run(() => target.transactionWithDirectory(work), currentTenant(), currentWorkTime()),
});
