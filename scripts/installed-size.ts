import { lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Prints the disk usage of the dependencies. Exit code 1 if it exceeds the limit, with the largest packages on standard error.
 *
 *   node scripts/installed-size.ts                     as in `.ci/run`
 *   node scripts/installed-size.ts FOLDER MEGABYTES    of another folder of modules, with another limit
 */
const MOST_MEGABYTES = 700;
const LISTED = 12;

if (import.meta.main) {
  const [folder = 'node_modules', most = String(MOST_MEGABYTES)] = process.argv.slice(2);
  const megabytes = installedMegabytes(resolve(folder));
  console.log(`${folder}: ${megabytes} MB, of ${most} at most`);
  if (megabytes > Number(most)) {
    const lines = largestPackages(resolve(folder)).map(([name, size]) => `${String(size).padStart(6)} MB  ${name}`);
    console.error(
      `The limit is ${most} MB. Check what has grown since docs/decisions/0079-libraries-as-published.md. The largest packages:\n` +
        lines.join('\n'),
    );
    process.exitCode = 1;
  }
}

/** Disk usage of a directory without caches, in MB like `du -m`: whole blocks, and hard-linked files once. */
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

function largestPackages(modules: string): (readonly [name: string, megabytes: number])[] {
  const foldersOf = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== '.cache')
      .map(({ name }) => name);
  const names = foldersOf(modules).flatMap((name) =>
    name.startsWith('@') ? foldersOf(join(modules, name)).map((part) => `${name}/${part}`) : [name],
  );
  return names
    .map((name) => [name, installedMegabytes(join(modules, name))] as const)
    .sort(([, a], [, b]) => b - a)
    .slice(0, LISTED);
}
