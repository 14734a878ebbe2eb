import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/**
 * An operating system lock that ends with its process, however the process ends, and works between containers of one machine, which cannot
 * see each other's processes. Node has no function for file locks. SQLite's exclusive transaction takes one (a POSIX record lock;
 * `LockFileEx` on Windows) on a file that stays empty.
 *
 * A process loses its record locks on a file when it closes any descriptor of it. SQLite takes care of its own descriptors; no other code
 * in this process may open the file.
 */

/** Keeps references: a garbage-collected object would be closed and lose its lock. */
const held = new Set<DatabaseSync>();

/** Takes the lock and returns a function that releases it. Returns `null` if this or another process holds it. */
export function tryLock(file: string): (() => void) | null {
  makePrivate(file);
  const database = new DatabaseSync(file);
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
  held.add(database);
  return () => {
    if (held.delete(database)) database.close();
  };
}

/** Whether the lock is taken. Concurrent calls of this function do not mistake each other for a process that has it. */
export function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    database.exec('select count(*) from sqlite_schema');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** Creates the file, if missing, with permissions that SQLite would not set. Does not open an existing file. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}
