import assert from 'node:assert/strict';
import type { Queryable } from '../../src/db/database.ts';
import type { Operation } from '../db/over-both-operations.ts';
import { type Scene, totalsOf } from '../db/over-both-scene.ts';
import { type Backend, BEFORE_COMMIT, COMMITTED } from '../support/moments.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { rowsOf } from './databases.ts';
import type { LocalServer } from './server.ts';

/**
 * Two-phase commits, held between the phases by a server that waits for a missing standby (`cluster.ts`): a worker that has prepared and
 * not confirmed it, or a coordinator that has committed and not notified the worker.
 */

export type Held = 'worker' | 'coordinator';
export type Killed = 'backend' | 'worker' | 'server';

const WAIT_ON_COORDINATOR = `select set_config('synchronous_commit', 'on', true)`;
/** Runs on the worker, like `limitLocksOnWorker` in `citus.ts`. */
const WAIT_ON_WORKER = `${WAIT_ON_COORDINATOR} from usage_backfill`;

export class TwoPhase {
  readonly #scene: Scene;
  readonly #workers: readonly LocalServer[];
  readonly #database: string;

  constructor(scene: Scene, workers: readonly LocalServer[], database: string) {
    this.#scene = scene;
    this.#workers = workers;
    this.#database = database;
  }

  /**
   * Kills something during the commit of an operation, and restarts it. Depending on what was committed, both homes then have the changes
   * or neither, and a retry applies them once. Returns the recovery time of prepared transactions.
   *
   * @param meanwhile runs while a worker is down. The server then recovers by itself; it must not change totals
   */
  async kill(
    operation: Operation,
    held: Held,
    killed: Killed,
    meanwhile: ((lost: LocalServer) => Promise<void>) | null = null,
  ): Promise<number> {
    const { moments, others } = this.#scene;
    const done = await this.#undisturbed(operation);
    for (;;) {
      moments.begin();
      const ask = await operation.prepare(this.#scene);
      const since = await totalsOf(others);
      let killing: Promise<LocalServer> | null = null;
      moments.begin(done.commitAt, async (backend, transaction) => {
        // The first partition is on the coordinator: its transactions have one phase.
        if (!(await this.#isOnWorker(transaction))) return;
        await sql(transaction, held === 'worker' ? WAIT_ON_WORKER : WAIT_ON_COORDINATOR);
        killing = this.#killHeld(backend, held, killed);
      });
      const outcome = await ask();
      if (killing === null) continue;
      const worker = await (killing as Promise<LocalServer>);
      const where = `the ${held} held, the ${killed} killed, said to be ${outcome}`;
      if (killed === 'worker') {
        await meanwhile?.(worker);
        await worker.start();
      }
      const recoveredMs = await this.#recovered(meanwhile !== null);
      const isDone = held === 'coordinator';
      const change = async () => difference(since, await totalsOf(others));
      assert.deepEqual(await change(), isDone ? done.change : difference(since, since), where);
      if (isDone && operation.again === 'another') return recoveredMs;
      moments.begin();
      await until(async () => (await ask()) !== 'failed', `${where}; each repeat failed`);
      assert.deepEqual(await change(), done.change, `${where}; after a repeat`);
      return recoveredMs;
    }
  }

  /** Changes of an operation, and the moment before its commit. */
  async #undisturbed(operation: Operation) {
    const { moments, others } = this.#scene;
    moments.begin();
    const ask = await operation.prepare(this.#scene);
    const since = await totalsOf(others);
    moments.begin();
    const outcome = await ask();
    assert.ok(outcome === 'done' || outcome === 'unknown', `${operation.name} is ${outcome}`);
    assert.ok(moments.passed.includes(COMMITTED), `${operation.name} is a transaction over both homes`);
    return { change: difference(since, await totalsOf(others)), commitAt: moments.passed.indexOf(BEFORE_COMMIT) };
  }

  async #isOnWorker(transaction: Queryable): Promise<boolean> {
    const [row] = await sql<{ schema: string }>(transaction, 'select current_schema()::text as schema');
    return row!.schema !== 'public';
  }

  /** Waits until the commit is held, and kills. Returns the worker that participates in it. */
  async #killHeld(backend: Backend, held: Held, killed: Killed): Promise<LocalServer> {
    const { kills, others } = this.#scene;
    if (held === 'coordinator') await until(() => this.#isHeldOnCoordinator(backend), 'the coordinator does not wait');
    const prepared = await this.#preparedOn(held);
    if (killed === 'worker') await prepared.worker.kill();
    else await kills[killed](backend, others.directory);
    // Continues as if a standby had responded.
    if (held === 'coordinator' && killed === 'worker')
      await sql(others.directory, 'select pg_cancel_backend($1::int)', [backend.pid]);
    if (held === 'worker' && killed !== 'worker')
      await rowsOf(prepared.worker.port, this.#database, `select pg_cancel_backend(${prepared.pid}::int)`);
    return prepared.worker;
  }

  async #isHeldOnCoordinator({ pid }: Backend): Promise<boolean> {
    const waits = `select from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'`;
    return (await sql(this.#scene.others.directory, waits, [pid])).length > 0;
  }

  /** The worker that has prepared, and its process that waits for a standby. */
  async #preparedOn(held: Held): Promise<{ readonly worker: LocalServer; readonly pid: number }> {
    const waits = `select pid from pg_stat_activity where datname = '${this.#database}' and wait_event = 'SyncRep'`;
    const prepared = `select 0 as pid from pg_prepared_xacts where database = '${this.#database}'`;
    let found: { readonly worker: LocalServer; readonly pid: number } | null = null;
    await until(async () => {
      for (const worker of this.#workers) {
        const [row] = await rowsOf<{ pid: number }>(worker.port, this.#database, held === 'worker' ? waits : prepared);
        if (row !== undefined) found = { worker, pid: row.pid };
      }
      return found !== null;
    }, 'no worker has prepared');
    return found!;
  }

  /** The coordinator commits or rolls back prepared transactions, according to its own log. */
  async #recovered(byItself: boolean): Promise<number> {
    const beganMs = performance.now();
    const recover = () => sql(this.#scene.others.directory, 'select recover_prepared_transactions()');
    await until(async () => {
      if (!byItself) await recover().catch(() => undefined);
      const left = `select from pg_prepared_xacts where database = '${this.#database}'`;
      const all = await Promise.all(this.#workers.map(({ port }) => rowsOf(port, this.#database, left)));
      return all.every(({ length }) => length === 0);
    }, 'a transaction is prepared and neither committed nor rolled back');
    return performance.now() - beganMs;
  }
}

type Totals = Awaited<ReturnType<typeof totalsOf>>;

/** Changes of the totals of each home, without zeros. */
function difference(since: Totals, now: Totals): Record<string, bigint> {
  const of = (home: keyof Totals): (readonly [string, bigint])[] =>
    Object.entries(now[home]).map(([name, value]) => [`${home}: ${name}`, value - since[home][name]!]);
  return Object.fromEntries([...of('directory'), ...of('partitions')].filter(([, change]) => change !== 0n));
}
