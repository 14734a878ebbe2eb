import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database, PoolName, Query } from '../../src/db/database.ts';
import { POOL_NAMES } from '../../src/db/pools.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';

/** Databases with several schemas: every kind of request uses its own tables, in any order. */

const whereAmI = { name: 'test.where', text: 'select place from test_places where $1::boolean' };
const read: Query = { statement: whereAmI, parameters: [true] };

/** Queries in every available way. */
const WAYS: Readonly<Record<string, (database: Database) => Promise<readonly unknown[]>>> = {
  query: (database) => database.query(whereAmI, [true]),
  transaction: (database) => database.transaction((transaction) => transaction.query(whereAmI, [true])),
  longTransaction: (database) => database.longTransaction((transaction) => transaction.query(whereAmI, [true])),
  readThenWrite: (database) =>
    database.readThenWrite({ name: 'test.batch', reads: [read], decide: ([rows]) => ({ writes: [], result: rows! }) }),
  waiting: (database) =>
    database.readThenWrite({
      name: 'test.waiting',
      waitsForLocks: true,
      reads: [read],
      decide: ([rows]) => ({ writes: [read], result: rows! }),
    }),
  async openTables(database) {
    const reader = await database.openTables();
    const rows = await reader.query(whereAmI, [true]);
    await reader.close();
    return rows;
  },
  async snapshots(database) {
    const reader = await database.openSnapshots();
    const rows = await reader.cursor(whereAmI, [true]).fetch(10);
    await reader.close();
    return rows;
  },
  ...Object.fromEntries(
    POOL_NAMES.map((name: PoolName) => [
      `lane ${name}`,
      (database: Database) => database.pool(name).query(whereAmI, [true]),
    ]),
  ),
};

async function prepare(database: Database, place: string): Promise<void> {
  await database.script(`create table test_places (place text); insert into test_places values ('${place}')`);
}

describe(`databases with several schemas`, { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let places: [string, Database][];
  before(async () => {
    stored = await createPartitioned(3);
    places = stored.databases.partitions.map((database, number) => [`place ${number}`, database]);
    for (const [place, database] of places) await prepare(database, place);
  });
  after(() => stored?.remove());

  it('run each statement of a transaction in its own schema', async () => {
    const schemas = [null, 'faregate_01', 'faregate_02', null, 'faregate_02'];
    const wanted = [0, 1, 2, 0, 2].map((number) => [{ place: `place ${number}` }]);
    const { directory } = stored.databases;
    const found = await directory.longTransaction(async (transaction) => {
      const rows: unknown[] = [];
      for (const schema of schemas) rows.push(await transaction.inSchema(schema).query(whereAmI, [true]));
      return rows;
    });
    assert.deepEqual(found, wanted);
    const reader = await directory.openSnapshots();
    try {
      const cursors = schemas.map((schema) => reader.inSchema(schema).cursor(whereAmI, [true]));
      const fetched: unknown[] = [];
      for (const cursor of cursors) fetched.push(await cursor.fetch(10));
      assert.deepEqual(fetched, wanted);
      assert.deepEqual(await reader.query(whereAmI, [true]), wanted[0]);
    } finally {
      await reader.close();
    }
  });

  it('receive each other’s notifications', async () => {
    const heard: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const subscription = await places[1]![1].subscribe(
      'test_channel',
      (payload) => {
        heard.push(payload);
        arrived.resolve();
      },
      () => undefined,
    );
    await places[0]![1].query({ name: 'test.notify', text: `select pg_notify('test_channel', 'said')` });
    await arrived.promise;
    await subscription.close();
    assert.deepEqual(heard, ['said']);
  });

  it('report figures of their connections', async () => {
    const figures = stored.databases.figures();
    const names = figures.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const [, database] of places) await database.pool('admin').query(whereAmI, [true]);
    const begun = (of: typeof figures): number =>
      of.filter(({ name }) => name.startsWith('admin')).reduce((sum, each) => sum + each.begun, 0);
    assert.equal(begun(stored.databases.figures()) - begun(figures), places.length);
  });
});

describe('connections to a schema of a server', { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let proxy: TestProxy;
  before(async () => {
    stored = await createPartitioned(2);
    for (const [number, database] of stored.databases.partitions.entries()) await prepare(database, `place ${number}`);
    proxy = await startProxy(stored.location.url);
  });
  after(async () => {
    await proxy?.close();
    await stored?.remove();
  });

  it('use it after they were lost and reopened', async () => {
    const database = openPostgres({ url: proxy.url, logger: silentLogger, schema: 'faregate_01' });
    try {
      for (let round = 0; round < 3; round++) {
        for (const ask of Object.values(WAYS)) assert.deepEqual(await ask(database), [{ place: 'place 1' }]);
        await database.script(`update test_places set place = 'place 1'`);
        proxy.cut();
        while (proxy.connections > 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      await database.close();
    }
    assert.deepEqual(await WAYS.query!(stored.databases.directory), [{ place: 'place 0' }]);
  });

  // The driver would use options in the URL in place of others.
  it('use it, and the planner settings, whatever options the URL contains', async () => {
    const options = encodeURIComponent('-c search_path=public -c work_mem=5MB');
    const url = `${stored.location.url}?options=${options}`;
    const settings = {
      name: 'test.settings',
      text: `select current_setting('work_mem') as memory, current_setting('enable_seqscan') as scans`,
    };
    for (const [schema, place] of [
      [undefined, 'place 0'],
      ['faregate_01', 'place 1'],
    ] as const) {
      const database = openPostgres({ url, logger: silentLogger, schema });
      try {
        for (const ask of Object.values(WAYS)) assert.deepEqual(await ask(database), [{ place }]);
        assert.deepEqual(await database.query(settings), [{ memory: '5MB', scans: 'off' }]);
      } finally {
        await database.close();
      }
    }
  });
});
