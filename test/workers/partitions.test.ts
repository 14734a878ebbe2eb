import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertDelivered, assertSound, beginAll, createCallers, Gates } from '../settlement/callers.ts';
import { createBareDatabase, type TestDatabase } from '../support/database.ts';
import { readMetrics } from '../support/openmetrics.ts';
import { temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { askOnce, startWorkers, type WorkersProgram } from './scene.ts';

/** Workers start at the same time, and each of them creates missing tables and partitions. */

const [WORKERS, PARTITIONS] = [3, 4];

describe(`${WORKERS} workers on an empty database of ${PARTITIONS} partitions`, { timeout: 300_000 }, () => {
  const gates = new Gates();
  const directory = temporaryDirectory();
  let provider: ScriptedProvider;
  let stored: TestDatabase;
  let g: WorkersProgram;

  before(async () => {
    provider = await startProvider();
    provider.respond = gates.respond;
    stored = await createBareDatabase();
    g = await startWorkers({
      providerUrl: provider.url,
      databaseUrl: stored.url,
      dataDir: join(directory.path, 'data'),
      workers: WORKERS,
      partitions: PARTITIONS,
    });
  });
  after(async () => {
    g?.program.child.kill('SIGKILL');
    await g?.program.finished;
    await stored?.remove();
    await provider?.close();
    directory.remove();
  });

  it('migrate it, create each partition once, and all serve all partitions', async () => {
    await until(async () => (await g.workers()).length === WORKERS);
    const rows = await sql<{ number: number }>(stored.database, 'select number from partitions order by number');
    assert.deepEqual(
      rows,
      Array.from({ length: PARTITIONS }, (_, number) => ({ number })),
    );
    const read = async () => readMetrics((await askOnce(`${g.metricsUrl}/metrics`)).text);
    // A worker that is busy may be missing from a scrape.
    await until(async () => (await read()).sum('faregate_workers_reporting') === WORKERS);
    const metrics = await read();
    // The lowest of the workers' values, and the highest.
    assert.equal(metrics.sum('faregate_database_partitions'), PARTITIONS);
    assert.equal(metrics.sum('faregate_database_partitions_unopened'), 0);
    // No worker was restarted.
    assert.equal((await g.workers()).length, WORKERS);
    for (let n = 0; n < PARTITIONS; n++) await g.admin('POST', '/accounts', { name: `account ${n}` });
    const placed = await sql<{ n: number }>(
      stored.database,
      'select count(distinct partition_no)::int as n from accounts',
    );
    assert.ok(placed[0]!.n > 1, `accounts are in ${placed[0]!.n} partitions`);
    const calls = await beginAll(g.url, provider, await createCallers(g.admin), 'all');
    gates.open('all');
    for (const each of calls) await assertDelivered(each);
    await assertSound(g.admin);
  });
});
