import { rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readOptions } from '../scripts/read-options.ts';
import { writeExport } from '../src/cli/commands/export-file.ts';
import type { Database, SnapshotQueryable } from '../src/db/database.ts';
import { schemaVersion } from '../src/db/migrations.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { exportDatabase } from '../src/transfer/export.ts';
import { quantile } from './quantile.ts';

/**
 * Cost of an export from PostgreSQL: time, rows, bytes and memory, event loop delay, and the times of its statements. Writes the file as
 * `faregate db export` does, and removes it.
 *
 *     DATABASE_URL=postgres://… node bench/export-statements.ts [--file export.jsonl]
 */

const values = readOptions({ file: 'export.jsonl' });
const url = process.env.DATABASE_URL;
if (url === undefined) throw new Error('DATABASE_URL: where is the database to export?');

const PROCESS = { environment: {}, writeOut: () => undefined, writeError: () => undefined };

const tookMs = new Map<string, number[]>();

function timed(reader: SnapshotQueryable): typeof reader {
  return {
    ...reader,
    cursor<Row>(...asked: Parameters<SnapshotQueryable['cursor']>) {
      const cursor = reader.cursor<Row>(...asked);
      const ofStatement: number[] = [];
      tookMs.set(asked[0].name, ofStatement);
      return {
        async fetch(rowsMax) {
          const beganMs = performance.now();
          const rows = await cursor.fetch(rowsMax);
          ofStatement.push(performance.now() - beganMs);
          return rows;
        },
      };
    },
  };
}

const database = openPostgres({ url, logger: silentLogger });
const delays = monitorEventLoopDelay({ resolution: 1 });
try {
  const observed: Database = {
    ...database,
    openSnapshots: async () => {
      const reader = await database.openSnapshots();
      return { ...reader, ...timed(reader), inSchema: (schema) => timed(reader.inSchema(schema)) };
    },
  };
  const chunks = exportDatabase({
    directory: observed,
    schema: schemaVersion(),
    clock: { nowMs: Date.now },
  });
  let rssMax = 0;
  const onChunk = (): void => {
    rssMax = Math.max(rssMax, process.memoryUsage.rss());
  };
  const beganMs = performance.now();
  delays.enable();
  const { end, sizeBytes } = await writeExport(values.file, chunks, PROCESS, onChunk);
  delays.disable();
  const allMs = performance.now() - beganMs;
  const rows = Object.values(end.rows).reduce((sum, n) => sum + n, 0);
  console.log(
    `An export of ${end.accounts} accounts, ${rows} rows, ${(sizeBytes / 1e6).toFixed(0)} MB took ${(allMs / 1_000).toFixed(1)} s: ` +
      `${((allMs * 1_000) / rows).toFixed(1)} µs a row; at most ${(rssMax / 1e6).toFixed(0)} MB of memory; event loop late by ` +
      `${(delays.max / 1e6).toFixed(1)} ms at most`,
  );
  console.log('\n| statement | times | all s | median ms | at most ms |\n|---|---|---|---|---|');
  for (const [name, took] of tookMs) {
    const all = took.reduce((sum, ms) => sum + ms, 0) / 1_000;
    const [median, most] = [0.5, 1].map((share) => quantile(took, share).toFixed(1));
    console.log(`| ${name} | ${took.length} | ${all.toFixed(1)} | ${median} | ${most} |`);
  }
} finally {
  await database.close();
  await rm(values.file, { force: true });
}
