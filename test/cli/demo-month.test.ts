import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { writeHistory } from '../../src/accounting/history/history-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import { createRollups } from '../../src/accounting/usage/rollups.ts';
import { makeBareDemo, makeMonth, monthStartMs } from '../../src/cli/demo/month/month.ts';
import { createNewDemo } from '../../src/cli/demo/new-demo.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Database } from '../../src/db/database.ts';
import { inOneDatabase, type PartitionedDatabases } from '../../src/db/home-lanes.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, gatewayEngines } from '../support/database.ts';
import { createPartitioned } from '../support/partitioned.ts';

const FILE = fileURLToPath(new URL('../../src/cli/demo/faregate.demo.yaml', import.meta.url));
const config = loadConfig(FILE, { FAREGATE_DEMO_PROVIDER: 'http://127.0.0.1:9' }, {});

async function count(database: Database, table: string): Promise<number> {
  const [row] = await database.query<{ n: number }>({
    name: `test.count-${table}`,
    text: `select count(*)::int as n from ${table}`,
  });
  return row!.n;
}

async function assertSound(databases: PartitionedDatabases): Promise<void> {
  const broken = (await auditLedger(databases)).filter(({ breaches }) => breaches.length > 0);
  assert.deepEqual(broken, []);
}

for (const engine of gatewayEngines) {
  describe(`the demo's month in a database, ${engine}`, () => {
    it('is sound by the audit, before its usage is summed and after, and written once', async () => {
      const { database, remove } = await createTestDatabase(engine);
      try {
        const nowMs = systemClock.nowMs();
        const demo = createNewDemo(systemClock, monthStartMs(nowMs));
        const parts = { config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs };
        const history = makeMonth(parts);
        assert.equal(await writeHistory(database, history), true);
        await assertSound(inOneDatabase(database));
        const store = createRollupStore(database.lane('housekeeping'));
        await createRollups({ store, timezone: () => 'Asia/Shanghai', logger: silentLogger }).round();
        await assertSound(inOneDatabase(database));
        const calls = await count(database, 'calls');
        assert.equal(calls, history.outcomes.length + 2);
        const [summed] = await database.query<{ n: bigint }>({
          name: 'test.summed',
          text: 'select sum(calls)::bigint as n from usage_rollups',
        });
        assert.equal(summed!.n, BigInt(history.outcomes.length));

        assert.equal(await writeHistory(database, makeBareDemo(parts)), false);
        assert.equal(await writeHistory(database, history), false);
        assert.deepEqual([await count(database, 'calls'), await count(database, 'accounts')], [calls, 5]);
      } finally {
        await remove();
      }
    });

    it('is in the first of several partitions, where its accounts are', async () => {
      const { databases, remove } = await createPartitioned(engine, 2);
      try {
        const nowMs = systemClock.nowMs();
        const demo = createNewDemo(systemClock, monthStartMs(nowMs));
        const history = makeMonth({ config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs });
        assert.equal(await writeHistory(databases.directory, history), true);
        const places = { name: 'test.places', text: 'select distinct partition_no from accounts' };
        assert.deepEqual(await databases.directory.query(places), [{ partition_no: 0 }]);
        assert.deepEqual(await count(databases.partitions[1]!, 'balances'), 0);
        await assertSound(databases);
      } finally {
        await remove();
      }
    });

    it('may be left out: then there is the account with ¥100, its key and its operator', async () => {
      const { database, remove } = await createTestDatabase(engine);
      try {
        const nowMs = systemClock.nowMs();
        const demo = createNewDemo(systemClock, nowMs);
        const parts = { config, demo, passwordHash: 'hash', planId: 'demo-coding', nowMs };
        await writeHistory(database, makeBareDemo(parts));
        await assertSound(inOneDatabase(database));
        const tables = ['accounts', 'api_keys', 'users', 'memberships', 'ledger_entries', 'calls'];
        assert.deepEqual(await Promise.all(tables.map((table) => count(database, table))), [1, 1, 1, 1, 1, 0]);
      } finally {
        await remove();
      }
    });
  });
}
