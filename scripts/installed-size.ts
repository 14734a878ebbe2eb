import { lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Prints what the dependencies of the repository take on the disk, which `.ci/run` shows.
 *
 *   node scripts/installed-size.ts
 */
if (import.meta.main) console.log(`node_modules of the repository: ${installedMegabytes(resolve('node_modules'))} MB`);

/** What a directory takes on the disk, in MB as `du -m` counts them: whole blocks, and a file with several names once. Caches are no part of it. */
export function installedMegabytes(directory: string): number {
  const seen = new Set<number>();
  const blocksOf = (path: string): number => {
    const { ino, blocks, nlink } = lstatSync(path);
    if (nlink > 1 && seen.has(ino)) return 0;
    seen.add(ino);
    return blocks;
  };
  const blocksBelow = (folder: string): number => {
    let blocks = blocksOf(folder);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === '.cache') continue;
      const path = join(folder, entry.name);
      blocks += entry.isDirectory() ? blocksBelow(path) : blocksOf(path);
    }
    return blocks;
  };
  return Math.ceil((blocksBelow(directory) * 512) / 2 ** 20);
}
