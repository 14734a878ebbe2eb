import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Files and names that survive a power cut. A synced file may still lose its name: the name is an entry of the directory,
 * which has to be synced as well.
 */

/** When it resolves, the names of files made, renamed and removed before are on the disk. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows makes names durable by itself.
  if (process.platform === 'win32') return;
  await syncPath(directory);
}

/**
 * Makes the directory and those above it, if they are missing, and their names durable, also where they are there: an
 * earlier process may have made them and died before it synced.
 */
export async function makeDurableDirectory(directory: string, mode: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode });
  await syncDirectoriesAbove(directory);
}

/** Makes the name of a directory, and those of all above it, durable. */
export async function syncDirectoriesAbove(directory: string): Promise<void> {
  for (let path = resolve(directory); dirname(path) !== path; path = dirname(path)) {
    try {
      await syncDirectory(dirname(path));
    } catch (error) {
      // A directory that this user may not read, or of a file system without syncs, was not made by this program.
      if (!NOT_OURS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

const NOT_OURS = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EROFS']);

/** Replaces a file, or makes it: after a power cut it has the old content or the new one. */
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

/** Syncs a directory with everything in it. */
export async function syncTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true });
  // A few at once share the writes of the file system's own journal; the number of open files has a limit.
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
