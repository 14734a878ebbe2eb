import { execFile } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectoriesAbove, syncDirectory, syncTree } from '../lib/files/durable-files.ts';
import { moduleFile } from '../lib/files/module-file.ts';
import type { Logger } from '../lib/logger.ts';
import { type AcquireOptions, acquireDataDir, NoDatabaseError } from './data-dir.ts';
import type { ConnectionFigures, Database } from './database.ts';
import { EmbeddedEngine } from './embedded-engine.ts';
import { createEmbeddedHandle, type EmbeddedSession } from './embedded-handle.ts';
import { keepEmbeddedHouse } from './embedded-housekeeping.ts';
import type { FilesModule } from './embedded-messages.ts';
import { toStatementError } from './errors.ts';
import { currentWorkTime } from './lane-holder.ts';
import { AUDITS_WAITING_MAX, createLaneTurns, Turns } from './lanes.ts';
import { warnOfNetworkFileSystem } from './network-file-system.ts';
import { makePrivateDirectory } from './private-directory.ts';

interface EmbeddedOptions extends AcquireOptions {
  /** The data directory, which the database is in; created if it does not exist. */
  readonly dataDir: string;
  readonly logger?: Logger;
  /** Opens only a database that is there, and makes neither it nor the directory. */
  readonly mustExist?: boolean;
  /** For tests: where the engine's files come from. */
  readonly engineFiles?: FilesModule;
}

const HOUSEKEEPING_MS = 10_000;

/** Opens PostgreSQL inside this process as `openEmbeddedSession`. @returns the schema in which it begins. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  return createEmbeddedHandle(await openEmbeddedSession(options));
}

/**
 * Opens PostgreSQL inside this process, in a thread of its own. What it acknowledges is on the disk.
 *
 * @throws DataDirInUseError if another process has the directory open, and does not let go of it in time.
 * @throws NoLockError where the file system of the directory has no locks.
 * @throws OpenDataDirError where every user of the machine may write to it.
 * @throws NoDatabaseError if it must exist and does not.
 */
export async function openEmbeddedSession(options: EmbeddedOptions): Promise<EmbeddedSession> {
  const { dataDir, logger } = options;
  const files = join(dataDir, 'db');
  if (options.mustExist && !existsSync(files)) throw new NoDatabaseError(dataDir);
  makePrivateDirectory(dataDir, logger);
  if (logger !== undefined) warnOfNetworkFileSystem(dataDir, logger);
  const lock = await acquireDataDir(dataDir, { onWaiting: (message) => logger?.warn({}, message), ...options });
  // It loads the engine's code while the files are made ready.
  const engine = new EmbeddedEngine({
    files: options.engineFiles,
    onEnd: (err) => logger?.error({ err }, 'the thread of the embedded database has ended'),
  });
  try {
    await syncDirectoriesAbove(dataDir);
    if (!existsSync(files)) await initialise(files);
    // A power cut may leave the engine's own owner file empty, and the engine would take that for another process.
    rmSync(join(files, 'postmaster.pid'), { force: true });
    await engine.open(files);
    // The engine makes some of its files with rights of its own.
    makePrivateDirectory(dataDir);
  } catch (error) {
    await engine.terminate();
    lock.release();
    throw error;
  }

  // The engine has one session, so nothing else may run during a transaction of several messages.
  const { run: exclusive, figures } = createSequence();
  let housekeeping: Promise<void> | null = null;
  const timer = setInterval(() => {
    housekeeping ??= keepEmbeddedHouse({
      exec: async (sql) => {
        const results = await exclusive(() => engine.run({ name: 'database.housekeeping', sql }));
        return results.map((rows) => ({ rows }));
      },
    })
      .catch((error: unknown) => {
        const err = toStatementError('database.housekeeping', error);
        logger?.warn({ err }, 'the housekeeping of the database failed');
      })
      .finally(() => {
        housekeeping = null;
      });
  }, HOUSEKEEPING_MS);
  timer.unref();

  let closing: Promise<void> | null = null;
  async function close(): Promise<void> {
    clearInterval(timer);
    await housekeeping;
    try {
      await exclusive(() => engine.close());
      makePrivateDirectory(dataDir);
    } finally {
      lock.release();
    }
  }
  const audits = new Turns('audits', 1, AUDITS_WAITING_MAX);
  // There is one session, so lanes only bound how much of each kind waits for it, whatever the schema.
  const lanes = createLaneTurns(() => 1);
  return {
    engine,
    exclusive,
    lanes,
    audits,
    figures: () => [figures(), ...[...lanes.values(), audits].map((turns) => turns.figures)],
    close: () => (closing ??= close()),
  };
}

/** Runs one piece of work after the other, in the order of the calls; one that is aborted before its turn never begins. */
function createSequence(): { readonly run: EmbeddedSession['exclusive']; figures(): ConnectionFigures } {
  let last: Promise<unknown> = Promise.resolve();
  let size = 0;
  let begun = 0;
  let waitedMs = 0;
  return {
    run(work, signal) {
      const askedAtMs = performance.now();
      const time = currentWorkTime();
      time?.wait();
      const begin = async () => {
        time?.goOn();
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
