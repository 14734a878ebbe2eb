import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeHistory } from '../../src/accounting/history/history-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import { createRollups } from '../../src/accounting/usage/rollups.ts';
import { makeBareDemo, makeMonth, monthStartMs } from '../../src/cli/demo/month/month.ts';
import { createNewDemo } from '../../src/cli/demo/new-demo.ts';
import type { Database } from '../../src/db/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase } from '../support/database.ts';
import { readDemoConfig } from '../support/demo-config.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

const config = readDemoConfig();

async function count(database: Database, table: string): Promise<number> {
  const [row] = await sql<{ n: number }>(database, `select count(*)::int as n from ${table}`);
  return row!.n;
}

describe(`the demo's month in a database`, () => {
  it('passes the audit before and after its usage is summed, and is written once', async () => {
    await using stored = await createTestDatabase();
    const { database } = stored;
    const nowMs = systemClock.nowMs();
    const demo = createNewDemo(systemClock, monthStartMs(nowMs));
    const parts = { config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs };
    const history = makeMonth(parts);
    assert.equal(await writeHistory(database, history), true);
    await assertSound(inOneDatabase(database));
    const store = createRollupStore(database.pool('housekeeping'));
    await createRollups({ store, timezone: () => 'Asia/Shanghai', logger: silentLogger }).round();
    await assertSound(inOneDatabase(database));
    const calls = await count(database, 'calls');
    assert.equal(calls, history.outcomes.length + 2);
    const [summed] = await sql<{ n: bigint }>(database, 'select sum(calls)::bigint as n from usage_rollups');
    assert.equal(summed!.n, BigInt(history.outcomes.length));

    assert.equal(await writeHistory(database, makeBareDemo(parts)), false);
    assert.equal(await writeHistory(database, history), false);
    assert.deepEqual([await count(database, 'calls'), await count(database, 'accounts')], [calls, 5]);
  });

  it('is in the first of several partitions, with its accounts', async () => {
    await using stored = await createPartitioned(2);
    const { databases } = stored;
    const nowMs = systemClock.nowMs();
    const demo = createNewDemo(systemClock, monthStartMs(nowMs));
    const history = makeMonth({ config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs });
    assert.equal(await writeHistory(databases.directory, history), true);
    const places = await sql(databases.directory, 'select distinct partition_no from accounts');
    assert.deepEqual(places, [{ partition_no: 0 }]);
    assert.deepEqual(await count(databases.partitions[1]!, 'balances'), 0);
    await assertSound(databases);
  });

  it('may be left out, except the account with ¥100, its key and its operator', async () => {
    await using stored = await createTestDatabase();
    const { database } = stored;
    const nowMs = systemClock.nowMs();
    const demo = createNewDemo(systemClock, nowMs);
    const parts = { config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs };
    await writeHistory(database, makeBareDemo(parts));
    await assertSound(inOneDatabase(database));
    const tables = ['accounts', 'api_keys', 'users', 'memberships', 'ledger_entries', 'calls'];
    assert.deepEqual(await Promise.all(tables.map((table) => count(database, table))), [1, 1, 1, 1, 1, 0]);
  });
});
