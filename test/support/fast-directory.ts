import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Where the databases of tests are stored: in memory if the system offers it. A run makes some hundred copies of a database of a thousand
 * files, which takes ten times as long on a disk.
 */
const MEMORY = '/dev/shm';
const FREE_BYTES_MIN = 4 * 2 ** 30;
const FORGOTTEN_MS = 3_600_000;

export function makeFastDirectory(prefix: string): string {
  return mkdtempSync(join(hasMemory() ? MEMORY : tmpdir(), prefix));
}

function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    return false;
  }
}

/** Removes what killed runs of this user left in memory. */
export function sweepFastDirectories(prefix: string): void {
  if (!hasMemory()) return;
  for (const name of readdirSync(MEMORY)) {
    const path = join(MEMORY, name);
    if (!name.startsWith(prefix)) continue;
    // Another run may be removing its own files at the same time.
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.uid !== process.getuid?.() || Date.now() - stat.mtimeMs <= FORGOTTEN_MS) continue;
    rmSync(path, { recursive: true, force: true });
  }
}
