import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread, threadName } from 'node:worker_threads';
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
  /** By `NEXT_TRANSACTION` on the embedded database; `null` if the target has none. */
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

/** What a checkout calls the thread of its embedded database; older ones have the database in the main thread. */
const ENGINE_THREAD = 'embedded database';

/** Asks for the number of the next transaction, in whichever thread the engine is, and gets it. */
type CountMessage = 'here' | 'count' | { readonly nextTransaction: number };

let countTransactions: (() => Promise<number>) | null = null;
let delay: ReturnType<typeof monitorEventLoopDelay> | null = null;

/** Where the checkout has PGlite, as a URL; unset for a gateway that uses a PostgreSQL server. */
const pgliteUrl = process.env.FAREGATE_BENCH_PGLITE;

// Threads of the gateway are started with the same flags.
if (!isMainThread && threadName === ENGINE_THREAD && pgliteUrl !== undefined) {
  const line = countLine();
  await rememberEngine(pgliteUrl, (count) => {
    line.onmessage = ({ data }) => {
      if (data === 'count') void count().then((nextTransaction) => line.postMessage({ nextTransaction }));
    };
    line.unref();
    line.postMessage('here');
  });
}
if (isTarget) {
  if (pgliteUrl !== undefined) {
    await rememberEngine(pgliteUrl, (count) => {
      countTransactions = count;
    });
    hearOfThread();
  }
  replyToOrders(read);
}

/** The embedded database has one owner, the gateway, so its transactions can only be counted from inside the process. */
async function rememberEngine(url: string, onEngine: (count: () => Promise<number>) => void): Promise<void> {
  const { PGlite } = (await import(url)) as EngineModule;
  const create = PGlite.create;
  PGlite.create = async (...options) => {
    const engine = await create.apply(PGlite, options);
    onEngine(async () => Number((await engine.exec(NEXT_TRANSACTION))[0]!.rows[0]!.next));
    return engine;
  };
}

function countLine(): Omit<BroadcastChannel, 'onmessage'> & {
  onmessage: (event: { readonly data: CountMessage }) => void;
} {
  return new BroadcastChannel('faregate-bench-transactions') as never;
}

/** Counts by asking the thread of the engine, once there is one. */
function hearOfThread(): void {
  const line = countLine();
  let onCount: (nextTransaction: number) => void = () => undefined;
  line.onmessage = ({ data }) => {
    if (data === 'here') {
      countTransactions = () => {
        const { promise, resolve } = Promise.withResolvers<number>();
        onCount = resolve;
        line.postMessage('count');
        return promise;
      };
    } else if (data !== 'count') onCount(data.nextTransaction);
  };
  line.unref();
}

async function read({ collect, watchDelay }: MeterOrder): Promise<MeterReading> {
  // Before garbage is collected, which takes time that no call has asked for.
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const delayP99Ms = delay === null ? null : delay.percentile(99) / 1e6;
  if (collect) await collectGarbage();
  if (watchDelay !== undefined) watch(watchDelay);
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    cpuMicros: userCPUTime + systemCPUTime,
    rssBytes: rss,
    inUseBytes: heapUsed + external,
    nextTransaction: (await countTransactions?.()) ?? null,
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
