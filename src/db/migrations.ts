import { readdirSync, readFileSync } from 'node:fs';
import type { Home } from './homes.ts';

/** A migration in a file such as `0044_baseline.sql`. It cannot be undone. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** SQL for the schema of the directory and the first partition. For other partitions, `linesByHome` selects lines of it. */
  readonly sql: string;
}

const MIGRATIONS_DIR = new URL('./migrations/', import.meta.url);

/** Reads all migrations in order. The first one is the baseline, which creates the complete schema of its version. */
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

/** Splits a migration at lines such as `-- home: partition`. `before`: what comes before the first of them. */
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
