import { execFile } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { syncDirectoriesAbove, syncDirectory, syncTree } from '../lib/files/durable-files.ts';
import { moduleFile } from '../lib/files/module-file.ts';
import type { Logger } from '../lib/logger.ts';
import { type AcquireOptions, acquireDataDir, NoDatabaseError } from './data-dir.ts';
import {
  type ConnectionFigures,
  type Database,
  executeText,
  GENERIC_PLANS,
  type Parameter,
  PLANNER_OPTIONS,
  type Query,
  type Queryable,
  type ReadThenWrite,
  SLICE_PLANS,
  type Statement,
} from './database.ts';
import { EmbeddedFiles, EngineStoppedError, SYNC_PARAMETERS } from './embedded-files.ts';
import { keepEmbeddedHouse } from './embedded-housekeeping.ts';
import { asStatement, sqlState, toStatementError } from './errors.ts';
import { AUDITS_WAITING_MAX, createLane, createLanes, Turns } from './lanes.ts';
import { warnOfNetworkFileSystem } from './network-file-system.ts';
import { makePrivateDirectory } from './private-directory.ts';

interface EmbeddedOptions extends AcquireOptions {
  /** The data directory, which the database is in; created if it does not exist. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** Opens only a database that is there, and makes neither it nor the directory. */
  readonly mustExist?: boolean;
  /** For tests: the files of the engine in the directory. */
  readonly openFiles?: (directory: string) => EmbeddedFiles;
}

/** The parts of PGlite that a query and a transaction share. */
interface Session {
  exec(sql: string): Promise<{ rows: Record<string, unknown>[] }[]>;
}

const HOUSEKEEPING_MS = 10_000;

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

/**
 * Opens PostgreSQL inside this process. What it acknowledges is on the disk.
 *
 * @throws DataDirInUseError if another process has the directory open, and does not let go of it in time.
 * @throws NoLockError where the file system of the directory has no locks.
 * @throws OpenDataDirError where every user of the machine may write to it.
 * @throws NoDatabaseError if it must exist and does not.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  const { dataDir, logger, openFiles = (directory) => new EmbeddedFiles(directory) } = options;
  const files = join(dataDir, 'db');
  if (options.mustExist && !existsSync(files)) throw new NoDatabaseError(dataDir);
  makePrivateDirectory(dataDir, logger);
  if (logger !== undefined) warnOfNetworkFileSystem(dataDir, logger);
  const lock = await acquireDataDir(dataDir, { onWaiting: (message) => logger?.warn({}, message), ...options });
  let engine: PGlite;
  try {
    await syncDirectoriesAbove(dataDir);
    if (!existsSync(files)) await initialise(files);
    // A power cut may leave the engine's own owner file empty, and the engine would take that for another process.
    rmSync(join(files, 'postmaster.pid'), { force: true });
    engine = await PGlite.create({
      fs: openFiles(files),
      startParams: START_PARAMETERS,
      parsers: { [BIGINT_OID]: BigInt, [DATE_OID]: String },
    });
    // The engine makes some of its files with rights of its own.
    makePrivateDirectory(dataDir);
  } catch (error) {
    lock.release();
    throw error;
  }

  // The engine has one session, so nothing else may run during a transaction of several messages.
  const { run: exclusive, figures } = createSequence();
  let housekeeping: Promise<void> | null = null;
  const timer = setInterval(() => {
    housekeeping ??= keepEmbeddedHouse({ exec: (sql) => exclusive(() => engine.exec(sql)) })
      .catch((error: unknown) => {
        const err = toStatementError('database.housekeeping', error);
        logger?.warn({ err }, 'the housekeeping of the database failed');
      })
      .finally(() => {
        housekeeping = null;
      });
  }, HOUSEKEEPING_MS);
  timer.unref();

  const prepared = new Set<string>();
  const audits = new Turns('audits', 1, AUDITS_WAITING_MAX);
  const transaction: Database['transaction'] = (work) =>
    exclusive(() =>
      engine
        .transaction((transaction) => {
          const queryable: Queryable = {
            query: (statement, parameters) => run(transaction, prepared, statement, parameters),
          };
          return work(queryable);
        })
        .catch((error: unknown) => {
          throw sqlState(error) === undefined ? error : toStatementError('database.transaction', error);
        }),
    );
  const database: Database = {
    engine: 'embedded',
    lane: (name) => lanes.get(name),
    query: (statement, parameters, signal) => exclusive(() => run(engine, prepared, statement, parameters), signal),
    transaction,
    longTransaction: transaction,
    readThenWrite: (transaction, signal) => exclusive(() => readThenWrite(engine, prepared, transaction), signal),
    openSnapshots: async () => ({
      async read(reads) {
        // The engine works in this thread: without a turn of the event loop, nothing else would be heard of in between.
        await setImmediate();
        return exclusive(() => readSlice(engine, prepared, reads));
      },
      close: async () => undefined,
    }),
    // One transaction a statement: other work runs between two of them.
    readTables: (work) =>
      audits.run(() =>
        work({
          async query<Row>(statement: Statement, parameters: readonly Parameter[] = []) {
            await setImmediate();
            const [rows] = await exclusive(() => readSlice(engine, prepared, [{ statement, parameters }]));
            return rows as Row[];
          },
        }),
      ),
    async script(sql) {
      await exclusive(() => asStatement('database.script', () => engine.exec(sql)));
    },
    async subscribe(channel, onPayload) {
      const unlisten = await exclusive(() => engine.listen(channel, onPayload));
      return {
        isConnected: true,
        close: () =>
          exclusive(() => unlisten()).catch((error: unknown) => {
            // An engine that has stopped notifies nobody.
            if (!(error instanceof EngineStoppedError)) throw error;
          }),
      };
    },
    figures: () => [figures(), ...lanes.figures(), audits.figures],
    async close() {
      clearInterval(timer);
      await housekeeping;
      try {
        await engine.close();
        makePrivateDirectory(dataDir);
      } finally {
        lock.release();
      }
    },
  };
  // There is one session, so lanes only bound how much of each kind waits for it.
  const lanes = createLanes((name) =>
    createLane(
      name,
      1,
      {
        query: (statement, parameters) => database.query(statement, parameters),
        transaction: (work) => database.transaction(work),
      },
      { isInThread: true },
    ),
  );
  return database;
}

/** Runs one piece of work after the other, in the order of the calls; one that is aborted before its turn never begins. */
function createSequence(): Sequence {
  let last: Promise<unknown> = Promise.resolve();
  let size = 0;
  let begun = 0;
  let waitedMs = 0;
  return {
    run(work, signal) {
      const askedAtMs = performance.now();
      const begin = async () => {
        try {
          signal?.throwIfAborted();
          begun++;
          waitedMs += performance.now() - askedAtMs;
          return await work();
        } finally {
          size--;
        }
      };
      size++;
      const mine = last.then(begin, begin);
      last = mine.catch(() => undefined);
      return mine;
    },
    figures() {
      const used = Math.min(size, 1);
      return { name: 'session', used, connectionsMax: 1, waiting: size - used, begun, waitedMs, refused: 0 };
    },
  };
}

interface Sequence {
  run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  figures(): ConnectionFigures;
}

const INITIALISE = moduleFile('./initialise-embedded', import.meta.url);

/** Functions of the engine are not compiled a second time to be faster, which takes longer than all that they do here. */
const COMPILE_ONCE = '--liftoff-only';

/**
 * Made under another name and renamed when it is complete and on the disk, so that a start that is interrupted, also by a
 * power cut, can be repeated.
 */
async function initialise(files: string): Promise<void> {
  const unfinished = `${files}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [COMPILE_ONCE, INITIALISE, unfinished]);
  await syncTree(unfinished);
  renameSync(unfinished, files);
  await syncDirectory(dirname(files));
}

/**
 * Statements are prepared and executed by name in SQL, because parsing and planning the large ones costs several times
 * what running them does, and PGlite's own `query` does both anew each time (`bench/statements.ts`).
 */
async function run<Row>(
  session: Session,
  prepared: Set<string>,
  statement: Statement,
  parameters: readonly Parameter[] = [],
): Promise<Row[]> {
  const { name, text } = statement;
  if (!PREPARABLE.test(text)) return rowsOf<Row>(await asStatement(name, () => session.exec(text)));
  await prepareOnce(session, prepared, statement);
  return rowsOf<Row>(await asStatement(name, () => session.exec(executeText(name, parameters))));
}

async function prepareOnce(session: Session, prepared: Set<string>, statement: Statement): Promise<void> {
  if (prepared.has(statement.name)) return;
  await prepare(session, statement);
  prepared.add(statement.name);
}

const asText = ({ statement, parameters }: Query): string => executeText(statement.name, parameters);

const BEGIN = `begin;set local ${GENERIC_PLANS}`;

async function readThenWrite<Result>(
  session: Session,
  prepared: Set<string>,
  { name, reads, decide }: ReadThenWrite<Result>,
): Promise<Result> {
  const send = (commands: readonly string[]) => asStatement(name, () => session.exec(commands.join(';')));
  for (const { statement } of reads) await prepareOnce(session, prepared, statement);
  try {
    const [, , ...results] = await send([BEGIN, ...reads.map(asText)]);
    const { writes, result } = decide(results.map(({ rows }) => rows));
    for (const { statement } of writes) await prepareOnce(session, prepared, statement);
    await send([...writes.map(asText), 'commit']);
    return result;
  } catch (error) {
    await send(['rollback']);
    throw error;
  }
}

const BEGIN_SLICE = ['begin read only', ...SLICE_PLANS.map((setting) => `set local ${setting}`)];

async function readSlice(session: Session, prepared: Set<string>, reads: readonly Query[]): Promise<unknown[][]> {
  for (const { statement } of reads) await prepareOnce(session, prepared, statement);
  try {
    const commands = [...BEGIN_SLICE, ...reads.map(asText), 'commit'].join(';');
    const results = await asStatement(reads.at(-1)!.statement.name, () => session.exec(commands));
    return results.slice(BEGIN_SLICE.length, -1).map(({ rows }) => rows);
  } catch (error) {
    await session.exec('rollback');
    throw error;
  }
}

const DUPLICATE_PREPARED_STATEMENT = '42P05';

/**
 * Queries of one piece of work may come here at the same time with the same statement. One that is already prepared is found
 * by its name; outside of a transaction, a duplicate does no harm.
 */
async function prepare(session: Session, { name, text }: Statement): Promise<void> {
  const send = (command: string) => asStatement(name, () => session.exec(command));
  const found = await send(`select 1 from pg_prepared_statements where name = '${name}'`);
  if (found[0]!.rows.length > 0) return;
  try {
    await send(`prepare "${name}" as ${text}`);
  } catch (error) {
    if (sqlState(error) !== DUPLICATE_PREPARED_STATEMENT) throw error;
  }
}

/** What SQL's `prepare` takes; the rest (schema changes, `begin`) has no parameters and no plan. */
const PREPARABLE = /^\s*(select|insert|update|delete|merge|values|with)\b/i;

function rowsOf<Row>(results: readonly { rows: Record<string, unknown>[] }[]): Row[] {
  return (results.at(-1)?.rows ?? []) as Row[];
}
