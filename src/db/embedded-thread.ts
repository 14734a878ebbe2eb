import { workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { PLANNER_OPTIONS } from './database.ts';
import { EmbeddedFiles, SYNC_PARAMETERS } from './embedded-files.ts';
import type { Failure, Notification, Order, Response, Rows, ThreadOptions, Work } from './embedded-messages.ts';
import { EngineStoppedError, toStatementError } from './errors.ts';

/**
 * The thread of the embedded database: it has the engine, and does what the main thread orders, one after the other. When that
 * is closed, it may be ordered to open another one. It loads as little as it can, because it is a second copy of whatever it loads.
 */

const BIGINT_OID = 20;
const DATE_OID = 1082;

/** Of PGlite's own parameters: turns syncs off. */
const NO_SYNC = '-F';

const START_PARAMETERS = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== NO_SYNC),
  ...SYNC_PARAMETERS,
  // Less than the default 128 MB: the working set of a ledger is small.
  ...['-c', 'shared_buffers=16MB'],
  ...PLANNER_OPTIONS,
];

const { port, files } = workerData as ThreadOptions;

let engine: PGlite | null = null;
const prepared = new Set<string>();
const listening = new Map<string, () => Promise<void>>();
/** What is done at the moment, for errors. */
let doing = '';

let last: Promise<void> = Promise.resolve();
port.on('message', (order: Order) => {
  last = last.then(() => serve(order));
});

async function serve(order: Order): Promise<void> {
  let response: Response;
  try {
    response = { results: await carryOut(order) };
  } catch (error) {
    response = { failure: order.kind === 'open' ? failureToOpen(error) : failureOf(error) };
  }
  // The main thread ends this one or keeps it, also after the last response: by itself, its end might be heard of before the response.
  port.postMessage(response);
}

async function carryOut(order: Order): Promise<readonly Rows[]> {
  doing = `database.${order.kind}`;
  switch (order.kind) {
    case 'run':
      return run(engine!, order);
    case 'open':
      engine = await open(order.directory);
      return [];
    case 'listen':
      await listen(engine!, order.channel);
      return [];
    case 'unlisten':
      await listening.get(order.channel)?.();
      listening.delete(order.channel);
      return [];
    case 'close':
      await engine?.close();
      engine = null;
      prepared.clear();
      listening.clear();
      return [];
  }
}

async function open(directory: string): Promise<PGlite> {
  const others = files === undefined ? null : ((await import(files.url)) as LoadedFiles);
  return PGlite.create({
    fs: others === null ? new EmbeddedFiles(directory) : others.openFiles(directory, files!.data),
    startParams: START_PARAMETERS,
    parsers: { [BIGINT_OID]: BigInt, [DATE_OID]: String },
  });
}

interface LoadedFiles {
  openFiles(directory: string, data: unknown): EmbeddedFiles;
}

async function listen(session: PGlite, channel: string): Promise<void> {
  const notify = (payload: string): void => port.postMessage({ channel, payload } satisfies Notification);
  listening.set(channel, await session.listen(channel, notify));
}

/** Rows as arrays: an object of each would be made here, and again by who receives it. */
const AS_ARRAYS = { rowMode: 'array' } as const;

/**
 * Statements are prepared and executed by name in SQL, because parsing and planning the large ones costs several times
 * what running them does, and PGlite's own `query` does both anew each time (`bench/statements.ts`).
 */
async function run(session: PGlite, work: Work): Promise<readonly Rows[]> {
  const { name, schema, unprepared, sql, from, to, rollsBack } = work;
  try {
    // By itself: together with what follows, a rollback of that would undo it.
    if (schema !== undefined) {
      doing = 'database.schema';
      await session.exec(`set search_path to ${schema}`);
    }
    for (const statement of unprepared) {
      // It is sent again where something else of its message failed.
      if (prepared.has(statement.name)) continue;
      doing = statement.name;
      await session.exec(`prepare "${statement.name}" as ${statement.text}`);
      prepared.add(statement.name);
    }
    doing = name;
    const results = await session.exec(sql, AS_ARRAYS);
    return results.slice(from, to).map(({ fields, rows }) => ({
      columns: fields.map((field) => field.name),
      rows: rows as unknown as unknown[][],
    }));
  } catch (error) {
    // The first failure says why: an engine that has stopped refuses this one as well.
    if (rollsBack) await session.exec('rollback').catch(() => undefined);
    throw error;
  }
}

/** Without the values of the statement, as everything that may be logged. */
function failureOf(error: unknown): Failure {
  const { statement, reason, code, constraint } = toStatementError(doing, error);
  return { statement, reason, code, constraint, hasStopped: error instanceof EngineStoppedError };
}

function failureToOpen(error: unknown): Failure {
  const { message = error, code } = error as { readonly message?: unknown; readonly code?: unknown };
  return {
    statement: null,
    reason: String(message),
    code: typeof code === 'string' ? code : undefined,
    constraint: undefined,
    hasStopped: false,
  };
}
