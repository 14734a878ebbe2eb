import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createReadiness } from '../../src/app/node-status.ts';
import { asTenant } from '../../src/db/current-tenant.ts';
import type { Database, PoolName, Queryable } from '../../src/db/database.ts';
import { PoolFullError, sqlState } from '../../src/db/errors.ts';
import { POOLS } from '../../src/db/pools.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { WorkTime } from '../../src/lib/fair/work-time.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createItems, one, readItems } from '../support/items.ts';
import { locksAwaited } from '../support/locks.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const lockItems = { name: 'test.lock-items', text: 'lock table items in access exclusive mode' };

/** The time attributed to a tenant's statement that waits 10 s for `holding`. No other time passes. */
async function workedBehind(database: Database, holding: (gate: Promise<void>) => Promise<unknown>): Promise<number> {
  let nowMs = 0;
  const time = new WorkTime(() => nowMs);
  const gate = Promise.withResolvers<void>();
  const held = holding(gate.promise);
  const asked = asTenant('a', () => database.pool('housekeeping').query(one), time);
  nowMs += 10_000;
  gate.resolve();
  await Promise.all([held, asked]);
  return time.workedMs;
}

/** Locks a table while the work runs, and then lets waiting statements continue. */
async function whileLocked(database: Database, work: () => Promise<unknown>): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(lockItems);
    await work();
  });
}

describe(`connection pools`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createItems();
  });
  after(() => stored.remove());

  it('are separate from audits, of which one runs at a time and four wait', async () => {
    const gate = Promise.withResolvers<void>();
    const audits = Array.from({ length: 5 }, () => stored.database.audit(() => gate.promise));
    await assert.rejects(
      stored.database.audit(async () => undefined),
      PoolFullError,
    );
    assert.deepEqual(await stored.database.query(one), [{ one: 1 }]);
    gate.resolve();
    await Promise.all(audits);
  });

  it('have as many statements waiting as they may, and refuse one more, while others go on', async () => {
    const pool = stored.database.pool('housekeeping');
    const { connectionsMax, waitingMax } = POOLS.housekeeping;
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = pool.transaction(async (transaction) => {
      begun.resolve();
      await gate.promise;
      return transaction.query<{ one: number }>(one);
    });
    await begun.promise;
    assert.equal(connectionsMax, 1);
    const waiting = Array.from({ length: waitingMax }, () => pool.query<{ one: number }>(one));
    await assert.rejects(pool.query(one), PoolFullError);
    gate.resolve();
    assert.deepEqual(await holding, [{ one: 1 }]);
    for (const rows of await Promise.all(waiting)) assert.deepEqual(rows, [{ one: 1 }]);
  });

  it('do not attribute the time in which a statement waits for another one to its tenant', async () => {
    const { database } = stored;
    const afterPool = workedBehind(database, (gate) => database.pool('housekeeping').transaction(() => gate));
    assert.equal(await afterPool, 0);
    const besideOthers = workedBehind(database, (gate) => database.transaction(() => gate));
    assert.equal(await besideOthers, 10_000);
  });
});

describe('the connection pool of probes', { timeout: 60_000 }, () => {
  it('responds in bounded time if the server says nothing more, and again once another connection is served', async () => {
    const stored = await createTestDatabase();
    const proxy = await startProxy(stored.url);
    const node = openPostgres({ url: proxy.url, logger: silentLogger });
    try {
      const isReady = createReadiness(() => node.pool('probes').query(one), 50);
      await until(isReady);
      proxy.swallow();
      assert.equal(await isReady(), false);
      await until(isReady);
    } finally {
      await proxy.close();
      await node.close();
      await stored.remove();
    }
  });
});

describe('audits', { timeout: 60_000 }, () => {
  it('run even if one’s server stops responding', async () => {
    const stored = await createTestDatabase();
    const proxy = await startProxy(stored.url);
    const node = openPostgres({ url: proxy.url, logger: silentLogger, auditStatementMaxMs: 100 });
    try {
      const audit = (meanwhile: () => void) =>
        node.audit(async () => {
          const reader = await node.openTables();
          await reader.query(one);
          meanwhile();
          return reader.query<{ one: number }>(one).finally(() => reader.close());
        });
      await assert.rejects(
        audit(() => proxy.swallow()),
        /test\.one: Query read timeout/,
      );
      assert.deepEqual(await audit(() => undefined), [{ one: 1 }]);
    } finally {
      await proxy.close();
      await node.close();
      await stored.remove();
    }
  });
});

describe('connections of pools', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let node: Database;
  before(async () => {
    stored = await createItems();
    node = stored.openAnother();
  });
  after(async () => {
    await node.close();
    await stored.remove();
  });

  const all = (): [string, Queryable][] => [
    ['calls', node],
    ...(['balances', 'admin', 'probes', 'housekeeping'] as PoolName[]).map((name): [string, Queryable] => [
      name,
      node.pool(name),
    ]),
  ];

  for (const [slow, count] of [
    ['calls', 10],
    ['admin', POOLS.admin.connectionsMax],
    ['balances', POOLS.balances.connectionsMax],
  ] as const) {
    it(`have separate connections: if every one of "${slow}" waits for a lock, others are served`, () => {
      let waiting: Promise<PromiseSettledResult<unknown>[]> | undefined;
      return whileLocked(stored.database, async () => {
        const pool = all().find(([name]) => name === slow)![1];
        waiting = Promise.allSettled(Array.from({ length: count }, () => pool.query(readItems)));
        await locksAwaited(stored.database, count);
        for (const [name, other] of all()) if (name !== slow) assert.deepEqual(await other.query(one), [{ one: 1 }]);
      }).then(async () => {
        for (const { status } of await waiting!) assert.equal(status, 'fulfilled');
      });
    });
  }

  it('for housekeeping give up a lock quickly, so that others do not wait', () =>
    whileLocked(stored.database, async () => {
      await assert.rejects(node.pool('housekeeping').query(readItems), (error) => sqlState(error) === '55P03');
    }));
});
