import { isMainThread } from 'node:worker_threads';
import { NEXT_TRANSACTION } from './next-transaction.ts';

/**
 * Loaded into a gateway before its own code (`node --import`): replies to each message of the bench with what the process
 * has used so far, and stops the gateway when the bench is gone. It knows nothing of the gateway's source, so that it can
 * be loaded into any checkout.
 */

/** What a target has used since it started. */
export interface MeterReading {
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** By `NEXT_TRANSACTION` on the embedded database; `null` if the target has none in this thread. */
  readonly nextTransaction: number | null;
}

/** The parts of PGlite that are used here. */
interface Engine {
  exec(sql: string): Promise<{ rows: Record<string, unknown>[] }[]>;
}
interface EngineModule {
  readonly PGlite: { create(...options: unknown[]): Promise<Engine> };
}

let engine: Engine | null = null;

/** Where the checkout has PGlite, as a URL; unset for a gateway that uses a PostgreSQL server. */
const pgliteUrl = process.env.FAREGATE_BENCH_PGLITE;

// Threads of the gateway are started with the same flags.
if (isMainThread && process.send !== undefined) {
  if (pgliteUrl !== undefined) await rememberEngine(pgliteUrl);
  process.on('message', () => void read().then((reading) => process.send?.(reading)));
  process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));
  // It must not keep a gateway running that has stopped.
  process.channel?.unref();
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

async function read(): Promise<MeterReading> {
  const { user, system } = process.cpuUsage();
  const results = await engine?.exec(NEXT_TRANSACTION);
  return {
    cpuMicros: user + system,
    rssBytes: process.memoryUsage.rss(),
    nextTransaction: results === undefined ? null : Number(results[0]!.rows[0]!.next),
  };
}
