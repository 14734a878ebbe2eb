import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/**
 * A lock of the operating system that dies with its holder, whatever ends it, and that holds between containers of one
 * machine, which do not see each other's processes. Node has no call for such a lock; SQLite's exclusive transaction is one
 * (a record lock of POSIX; `LockFileEx` on Windows), on a file that stays empty.
 *
 * A process loses its record locks on a file where it closes any descriptor of it. SQLite minds that for its own; nothing
 * else in this process may open the file.
 */

/** An object that nothing refers to is closed, and its lock is gone. */
const held = new Set<DatabaseSync>();

/** Returns how to release the lock, or `null` if somebody else, in this process or another one, has it. */
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

/** Whether somebody has the lock. Several may ask at once without being taken for a holder. */
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

/** Makes the file with the rights that SQLite would not give it, if it is not there. Opens none that is. */
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
