import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/**
 * This file takes a lock of the operating system that ends with its process and works between containers of a machine. Node has no function
 * for it, but SQLite's exclusive transaction takes one on a file that stays empty: a POSIX record lock, or `LockFileEx` on Windows.
 *
 * No other code in this process may open the file: closing any descriptor of a file releases the process's record locks.
 */

/** Keeps the objects referenced, because a garbage-collected one would lose its lock. */
const held = new Set<DatabaseSync>();

/** Takes the lock. Returns a function that releases it; `null` if this or another process holds the lock. */
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

/** Whether a process holds the lock. Concurrent calls of this function do not disturb each other. */
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

/** Creates the file if it is missing, with permissions that SQLite would not set. Never opens an existing file. */
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
