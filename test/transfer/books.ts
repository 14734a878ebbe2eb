import type { Database, SnapshotQueryable } from '../../src/db/database.ts';
import type { PartitionedDatabases } from '../../src/db/home-pools.ts';
import { HOMES } from '../../src/db/homes.ts';
import { schemaVersion } from '../../src/db/migrations.ts';
import { exportDatabase } from '../../src/transfer/export.ts';
import { LineDigest } from '../../src/transfer/format.ts';
import { type Imported, importDatabase } from '../../src/transfer/import.ts';
import { EXPORTED_TABLES, IN_EACH_PARTITION } from '../../src/transfer/tables.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { sql } from '../support/sql.ts';

/** Shared by the tests of exports and imports. */

export const CLOCK = { nowMs: () => Date.UTC(2026, 10, 22) };

export function startExport(database: Database): AsyncGenerator<string> {
  return startExportOf(inOneDatabase(database));
}

export function startExportOf(databases: PartitionedDatabases): AsyncGenerator<string> {
  // The tests act between any two reads.
  return exportDatabase({
    directory: databases.directory,
    schema: schemaVersion(),
    clock: CLOCK,
    textBytesMax: 1,
  });
}

export async function exported(database: Database): Promise<string> {
  return exportedFrom(inOneDatabase(database));
}

export async function exportedFrom(databases: PartitionedDatabases): Promise<string> {
  let text = '';
  for await (const chunk of startExportOf(databases)) text += chunk;
  return text;
}

export async function* linesOf(text: string): AsyncGenerator<string> {
  for (const line of text.trimEnd().split('\n')) yield line;
}

export function imported(directory: Database, text: string): Promise<Imported> {
  return importDatabase(linesOf(text), { directory, schema: schemaVersion() });
}

/** An export of other lines, with a matching digest and row counts. */
export function resigned(lines: readonly string[]): string {
  const digest = new LineDigest();
  for (const line of lines.slice(0, -1)) digest.add(`${line}\n`);
  const { end } = JSON.parse(lines.at(-1)!);
  const rows = Object.fromEntries(
    Object.keys(end.rows).map((table) => [table, lines.filter((line) => line.startsWith(`{"${table}":`)).length]),
  );
  return [...lines.slice(0, -1), JSON.stringify({ end: { ...end, rows, sha256: digest.sha256 } })].join('\n');
}

/** A database whose exports call `before` before rows are fetched, with the name of the statement. */
export function fetchingAfter(real: Database, before: (statement: string) => Promise<void> | void): Database {
  const observed = (reader: SnapshotQueryable): typeof reader => ({
    ...reader,
    cursor<Row>(...asked: Parameters<SnapshotQueryable['cursor']>) {
      const cursor = reader.cursor<Row>(...asked);
      return {
        async fetch(rowsMax) {
          await before(asked[0].name);
          return cursor.fetch(rowsMax);
        },
      };
    },
  });
  return {
    ...real,
    async openSnapshots() {
      const reader = await real.openSnapshots();
      return { ...reader, ...observed(reader), inSchema: (schema) => observed(reader.inSchema(schema)) };
    },
  };
}

/** Columns that differ after an import: where usage sums begin, and partitions. */
const OF_ONE_DATABASE = ['is_queued', 'partition_no'];

/** Every row of every exported table as text, sorted. */
export function allRows(database: Database): Promise<Record<string, string[]>> {
  return allRowsOf(inOneDatabase(database));
}

/** Rows that each partition has are counted once. */
export async function allRowsOf({ directory, partitions }: PartitionedDatabases): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of [...EXPORTED_TABLES, 'database_identity'] as const) {
    const texts: string[] = [];
    for (const database of HOMES[table] === 'directory' ? [directory] : partitions) {
      const rows = await sql<Record<string, unknown>>(database, `select * from ${table}`);
      texts.push(...rows.map(inText));
    }
    tables[table] = (
      table !== 'database_identity' && IN_EACH_PARTITION.has(table) ? [...new Set(texts)] : texts
    ).sort();
  }
  return tables;
}

function inText(row: Record<string, unknown>): string {
  const moved = Object.entries(row).filter(([name]) => !OF_ONE_DATABASE.includes(name));
  const plain = moved.map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  ]);
  return JSON.stringify(plain, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
