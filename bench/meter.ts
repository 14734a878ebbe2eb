import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { NEXT_TRANSACTION } from './next-transaction.ts';
import { isTarget, replyToOrders } from './orders.ts';

/**
 * Loaded into a target before its own code (`node --import`): replies to each `MeterOrder` of the bench with what the process
 * has used so far, and stops the target when the bench is gone. It knows nothing of the target's source, so that it can
 * be loaded into any checkout.
 */

/** What is done before a reading. */
export interface MeterOrder {
  /** Collects garbage, so that the memory is that of what is in use. */
  readonly collect?: boolean;
  /** Begins to watch how late the event loop of the main thread is, or ends it. Watching wakes the thread each millisecond. */
  readonly watchDelay?: boolean;
}

/** What a target has used since it started. */
export interface MeterReading {
  /** Of all threads, user and system, by the operating system. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** What the main thread has allocated and still refers to, if garbage was collected; `null` if it cannot be known. */
  readonly inUseBytes: number | null;
  /** By `NEXT_TRANSACTION` on the embedded database; `null` if the target has none in this thread. */
  readonly nextTransaction: number | null;
  /** By how much the event loop was late, at the 99th percentile since it is watched; `null` if it is not. */
  readonly delayP99Ms: number | null;
}

/** The parts of PGlite that are used here. */
interface Engine {
  exec(sql: string): Promise<{ rows: Record<string, unknown>[] }[]>;
}
interface EngineModule {
  readonly PGlite: { create(...options: unknown[]): Promise<Engine> };
}

const DELAY_RESOLUTION_MS = 1;
const FINALISED_WITHIN_MS = 50;

let engine: Engine | null = null;
let delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

/** Where the checkout has PGlite, as a URL; unset for a gateway that uses a PostgreSQL server. */
const pgliteUrl = process.env.FAREGATE_BENCH_PGLITE;

if (isTarget) {
  if (pgliteUrl !== undefined) await rememberEngine(pgliteUrl);
  replyToOrders(read);
}

/** The embedded database has one owner, the gateway, so its transactions can only be counted from inside the process. */
async function rememberEngine(url: string): Promise<void> {
  const { PGlite } = (await import(url)) as EngineModule;
  const create = PGlite.create;
  PGlite.create = async (...options) => {
    engine = await create.apply(PGlite, options);
    return engine;
  };
}

async function read({ collect, watchDelay }: MeterOrder): Promise<MeterReading> {
  // Before garbage is collected, which takes time that no call has asked for.
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const delayP99Ms = delay === null ? null : delay.percentile(99) / 1e6;
  if (collect) await collectGarbage();
  if (watchDelay !== undefined) watch(watchDelay);
  const { rss, heapUsed, external } = process.memoryUsage();
  const results = await engine?.exec(NEXT_TRANSACTION);
  return {
    cpuMicros: userCPUTime + systemCPUTime,
    rssBytes: rss,
    inUseBytes: heapUsed + external,
    nextTransaction: results === undefined ? null : Number(results[0]!.rows[0]!.next),
    delayP99Ms,
  };
}

/** Twice: what the first one finds to be finalised is freed by the second. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  await setTimeout(FINALISED_WITHIN_MS);
  gc();
}

function watch(isWatched: boolean): void {
  delay?.disable();
  delay = isWatched ? monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS }) : null;
  delay?.enable();
}
