import { readFileSync } from 'node:fs';
import pg from 'pg';
import { startStage } from './stage.ts';

/**
 * The cost of rows as statement parameters: one array per column (`unnest`), or one JSON text (`json_to_recordset`,
 * `src/db/json-rows.ts`). µs of the server's CPU per row, and of this process to serialise it, for a table with as many columns as call
 * records.
 *
 *   node bench/row-parameters.ts
 */
const COLUMNS: readonly (readonly [name: string, type: string, value: unknown])[] = [
  ...Array.from({ length: 16 }, (_, i) => [`t${i}`, 'text', i > 12 ? null : `value_${i}`] as const),
  ...Array.from({ length: 3 }, (_, i) => [`s${i}`, 'timestamptz', '2026-11-28T12:00:00.000Z'] as const),
  ...Array.from({ length: 28 }, (_, i) => [`b${i}`, 'bigint', i % 3 === 0 ? 1_234 : null] as const),
  ...Array.from({ length: 6 }, (_, i) => [`n${i}`, 'int', null] as const),
];
const CALLS = 6_000;

const arrays = (rows: number): string =>
  COLUMNS.map(([, , value]) => (value === null ? `'{}'` : `'{${Array(rows).fill(value).join(',')}}'`)).join(',');
const row = Object.fromEntries(COLUMNS.flatMap(([name, , value]) => (value === null ? [] : [[name, value]])));
const json = (rows: number): string => `'${JSON.stringify(Array(rows).fill(row))}'`;

const stage = await startStage(0, []);
const client = new pg.Client(await stage.createDatabase());
await client.connect();
await client.query(`create unlogged table rows (${COLUMNS.map(([name, type]) => `${name} ${type}`).join(', ')});
set plan_cache_mode = force_generic_plan; set jit = off; set synchronous_commit = off`);
await client.query(`prepare arrays as insert into rows
select * from unnest(${COLUMNS.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')})`);
await client.query(`prepare json as insert into rows
select * from json_to_recordset($1::json) as v (${COLUMNS.map(([name, type]) => `${name} ${type}`).join(', ')})`);
const [{ pid }] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows as [{ pid: number }];

/** In hundredths of a second; summed over many statements. */
function serverMicros(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

console.log('| rows | as | server, µs a row | making the text, µs a row |\n|--:|---|--:|--:|');
for (const rows of [1, 4, 16, 64]) {
  const statements = Math.ceil(CALLS / Math.sqrt(rows));
  for (const [name, make] of Object.entries({ arrays, json })) {
    const text = `execute ${name}(${make(rows)})`;
    for (let i = 0; i < 50; i++) await client.query(text);
    await client.query('truncate rows');
    const ownBefore = process.cpuUsage();
    for (let i = 0; i < statements; i++) make(rows);
    const own = process.cpuUsage(ownBefore);
    const before = serverMicros();
    for (let i = 0; i < statements; i++) await client.query(text);
    const [server, making] = [serverMicros() - before, own.user + own.system].map(
      (micros) => micros / statements / rows,
    );
    console.log(`| ${rows} | ${name} | ${server!.toFixed(1)} | ${making!.toFixed(2)} |`);
  }
}
await client.end();
await stage.stop();
