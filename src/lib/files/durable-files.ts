import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** Syncs a directory, so that the names of new files in it survive a power failure. Syncing a file does not make its name durable. */

export async function syncDirectory(directory: string): Promise<void> {
  // Windows makes names durable without a sync.
  if (process.platform === 'win32') return;
  await syncPath(directory);
}

/**
 * Creates a directory and its parents if they are missing. Syncs their names even if they existed, because the process that created them
 * may have died before it did so.
 */
export async function makeDurableDirectory(directory: string, mode: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode });
  await syncDirectoriesAbove(directory);
}

export async function syncDirectoriesAbove(directory: string): Promise<void> {
  for (let path = resolve(directory); dirname(path) !== path; path = dirname(path)) {
    try {
      await syncDirectory(dirname(path));
    } catch (error) {
      // Ignores file systems without syncs, and directories that this process may not read, because another program must have created them.
      if (!NOT_OURS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

const NOT_OURS = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EROFS']);

/** Replaces or creates a file atomically, even if the power fails. */
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

export async function syncTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true });
  // In parallel, because syncs share writes of the file system's journal. The number of open files is limited.
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
