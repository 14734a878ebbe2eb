import assert from 'node:assert/strict';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { inOneDatabase } from '../../src/db/home-lanes.ts';
import { schemaVersion } from '../../src/db/migrations.ts';
import { exportDatabase } from '../../src/transfer/export.ts';
import { createExportStore } from '../../src/transfer/export-store.ts';
import { type Imported, importDatabase } from '../../src/transfer/import.ts';
import { createImportStore } from '../../src/transfer/import-store.ts';
import { EXPORTED_TABLES } from '../../src/transfer/tables.ts';

/** What the tests of exports and imports share. */

export const CLOCK = { nowMs: () => Date.UTC(2026, 10, 22) };

export function startExport(database: Database): AsyncGenerator<string> {
  return exportDatabase({ store: createExportStore(inOneDatabase(database)), schema: schemaVersion(), clock: CLOCK });
}

export async function exported(database: Database): Promise<string> {
  let text = '';
  for await (const chunk of startExport(database)) text += chunk;
  return text;
}

export async function* linesOf(text: string): AsyncGenerator<string> {
  for (const line of text.trimEnd().split('\n')) yield line;
}

export function imported(database: Database, text: string): Promise<Imported> {
  return importDatabase(linesOf(text), { store: createImportStore(database), schema: schemaVersion() });
}

/** Where a database has summed a record from, which an import has made anew; since when something is under way there; and its partitions. */
const OF_ONE_DATABASE = ['is_queued', 'under_way_since', 'partition_no'];

/** Every row of every exported table, as text, in an order of its own. */
export async function allRows(database: Database): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of [...EXPORTED_TABLES, 'database_identity']) {
    const rows = await database.query<Record<string, unknown>>({
      name: `test.rows-${table}`,
      text: `select * from ${table}`,
    });
    tables[table] = rows.map(inText).sort();
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

export async function assertSound(database: Database): Promise<void> {
  const broken = (await auditLedger(inOneDatabase(database))).filter(({ breaches }) => breaches.length > 0);
  assert.deepEqual(broken, []);
}
