import { readdirSync, readFileSync } from 'node:fs';
import type { Home } from './homes.ts';

/** A file such as `0044_baseline.sql`. There are no down migrations. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** For the directory's schema, which includes the first partition. For other partitions, `linesByHome` selects lines. */
  readonly sql: string;
}

const MIGRATIONS_DIR = new URL('./migrations/', import.meta.url);

/** In order. The first one is the baseline, which creates the complete schema of its version. */
export function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS_DIR)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -4),
      sql: readFileSync(new URL(file, MIGRATIONS_DIR), 'utf8'),
    }));
}

export function schemaVersion(): number {
  return readMigrations().at(-1)!.version;
}

const HOME_OF_NEXT_LINES = /^-- home: (directory|partition)$/;

/** Splits a migration by lines such as `-- home: partition`. `before`: the lines before the first of these. */
export function linesByHome(sql: string): Readonly<Record<Home | 'before', string>> {
  const lines: Record<Home | 'before', string[]> = { before: [], directory: [], partition: [] };
  let home: Home | 'before' = 'before';
  for (const line of sql.split('\n')) {
    const next = HOME_OF_NEXT_LINES.exec(line)?.[1];
    if (next !== undefined) home = next as Home;
    else lines[home].push(line);
  }
  const textOf = (of: Home | 'before'): string => lines[of].join('\n').trim();
  return { before: textOf('before'), directory: textOf('directory'), partition: textOf('partition') };
}
