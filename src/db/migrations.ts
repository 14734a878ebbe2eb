import { readdirSync, readFileSync } from 'node:fs';
import type { Home } from './homes.ts';

/** One step of the schema, from a file such as `0044_baseline.sql`. Steps only go forward. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** All of it is for the schema of the directory, which has the first partition. The others have what is theirs (`linesByHome`). */
  readonly sql: string;
}

const MIGRATIONS_DIR = new URL('./migrations/', import.meta.url);

/** In order. The first one is the baseline: it makes the whole schema as of its version, and the others come after it. */
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

/** The version of the schema that this program works with. */
export function schemaVersion(): number {
  return readMigrations().at(-1)!.version;
}

const HOME_OF_NEXT_LINES = /^-- home: (directory|partition)$/;

/**
 * The lines of a step by the home that the last line such as `-- home: partition` before them says; `before` are those that come before
 * the first such line.
 */
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
