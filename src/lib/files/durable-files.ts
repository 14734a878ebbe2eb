import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Functions that make files and their names survive a power failure. A synced file can still lose its name, because the name is an entry of
 * the directory, which must be synced too.
 */

/** Makes earlier creations, renames and removals of files in the directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows makes names durable by itself.
  if (process.platform === 'win32') return;
  await syncPath(directory);
}

/**
 * Creates the directory and its parents if they are missing, and makes their names durable even if they exist: an earlier
 * process may have created them and died before it synced them.
 */
export async function makeDurableDirectory(directory: string, mode: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode });
  await syncDirectoriesAbove(directory);
}

/** Makes the names of a directory and its parents durable. */
export async function syncDirectoriesAbove(directory: string): Promise<void> {
  for (let path = resolve(directory); dirname(path) !== path; path = dirname(path)) {
    try {
      await syncDirectory(dirname(path));
    } catch (error) {
      // Ignores a directory that this process may not read, which another program must have created, and file systems without syncs.
      if (!NOT_OURS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

const NOT_OURS = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EROFS']);

/** Replaces or creates a file atomically. After a power failure it has either the old content or the new one. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const file = await open(`${path}.new`, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

/** Syncs a directory and everything in it. */
export async function syncTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true });
  // Concurrent syncs share writes of the file system's journal. The number of open files is limited.
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    await Promise.all(
      entries.slice(at, at + AT_ONCE).map(async (entry) => {
        const path = join(directory, entry.name);
        if (entry.isDirectory()) await syncTree(path);
        else if (entry.isFile()) await syncPath(path);
      }),
    );
  }
  await syncDirectory(directory);
}

const AT_ONCE = 32;

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, process.platform === 'win32' ? 'r+' : 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
