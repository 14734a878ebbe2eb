import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCallsStore } from '../src/accounting/calls/calls-store.ts';
import { type Database, toArray } from '../src/db/database.ts';
import { openDatabases } from '../src/db/databases.ts';
import { migrate } from '../src/db/migrate.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { removeDirectory } from '../test/support/local-database.ts';

/**
 * The cost of finding call records by the provider's request id: microseconds of the database per record written, in batches, and
 * milliseconds per search, without an index on request_id, with a B-tree, and with a BRIN of Bloom filters.
 *
 *   node bench/request-ids.ts [postgres://…] [records]     an empty database; by default one of a local server
 */
const [url = '', recordsText = '200000'] = process.argv.slice(2);
const records = Number(recordsText);
const BATCHES = 400;
const BATCH_CALLS = 32;

const columns = `account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream,
  status, http_status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
  reasoning_tokens, price_rule, charge_nano`;
const values = (
  n: string,
): string => `'acct_' || ${n} % 1000, 'call_' || lpad(${n}::text, 26, '0'), now(), now(), 'key', 'balance',
  'chat', 'a-model', 'a-provider', 'a-model-2026-10', false, 'succeeded', 200, 'chatcmpl-' || md5(${n}::text), 100, 0, 0, 0, 100, 0,
  'base', 1000`;
const variants = {
  'no index': '',
  'B-tree': 'create index bench_request on calls (request_id)',
  'BRIN of Bloom filters':
    'create index bench_request on calls using brin (request_id text_bloom_ops (n_distinct_per_range = 2500))',
} as const;

const dataDir = mkdtempSync(join(tmpdir(), 'faregate-request-ids-'));
const { directory: database } = await openDatabases({ url, dataDir }, silentLogger);
await migrate(database);
await createCallsStore(database).prepareMonths(new Date());
await database.script('drop index if exists calls_by_request');
await database.script(`insert into calls (${columns}) select ${values('n')} from generate_series(1, ${records}) n`);
let next = records;
for (const round of [0, 1, 2]) {
  for (const [name, index] of Object.entries(variants)) {
    if (index !== '') await database.script(index);
    await measure(database, 40);
    const micros = await measure(database, BATCHES);
    const startMs = performance.now();
    const found = await find(database, `chatcmpl-${await md5Of(database, 77)}`);
    const searchMs = performance.now() - startMs;
    if (found !== 1) throw new Error(`${found} calls were found`);
    console.log(`${round} ${name.padEnd(24)}${micros.toFixed(1)} µs a record  ${searchMs.toFixed(1)} ms a search`);
    await database.script('drop index if exists bench_request');
  }
}
await database.close();
removeDirectory(dataDir);

async function measure(on: Database, batches: number): Promise<number> {
  const text = `insert into calls (${columns}) select ${values('n')} from unnest($1::int[]) n`;
  const startMs = performance.now();
  for (let i = 0; i < batches; i++) {
    const numbers = Array.from({ length: BATCH_CALLS }, () => ++next);
    await on.query({ name: 'bench.insert', text }, [toArray(numbers)]);
  }
  return ((performance.now() - startMs) * 1_000) / (batches * BATCH_CALLS);
}

async function find(on: Database, requestId: string): Promise<number> {
  const rows = await on.query({ name: 'bench.find', text: 'select id from calls where request_id = $1' }, [requestId]);
  return rows.length;
}

async function md5Of(on: Database, n: number): Promise<string> {
  const [row] = await on.query<{ hash: string }>({ name: 'bench.md5', text: `select md5('${n}') as hash` });
  return row!.hash;
}
