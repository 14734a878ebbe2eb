import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';

const one = { name: 'test.one', text: 'select 1 as one' };

describe('postgresql: a connection that is lost', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  let database: Database;
  before(async () => {
    stored = await createTestDatabase('postgresql');
    proxy = await startProxy(stored.url);
    database = openPostgres({ url: proxy.url, logger: silentLogger, statementTimeoutMs: 500 });
  });
  after(async () => {
    await database.close();
    await proxy.close();
    await stored.remove();
  });

  // The driver reports it by an event too, which ends a process that does not listen, with every call in flight.
  for (const [when, work] of [
    ['between two statements of a transaction', async () => undefined],
    [
      'while a statement of a transaction is under way',
      async (query: Database['query']) => {
        await query({ name: 'test.forever', text: 'select pg_sleep(3600)' });
      },
    ],
  ] as const) {
    it(`${when} fails that transaction, and the next one has another connection`, async () => {
      const failure = assert.rejects(
        database.transaction(async (transaction) => {
          await transaction.query(one);
          const working = work(transaction.query);
          proxy.cut();
          await working;
          while (proxy.connections > 0) await new Promise((resolve) => setImmediate(resolve));
          await transaction.query(one);
        }),
      );
      await failure;
      assert.deepEqual(await database.transaction((transaction) => transaction.query<{ one: number }>(one)), [
        { one: 1 },
      ]);
    });
  }

  it('leaves no row locked: the server ends a transaction whose client sends nothing more', async () => {
    await stored.database.script(`create table contended (id int primary key); insert into contended values (1)`);
    const lock = { name: 'test.lock-contended', text: 'select id from contended where id = 1 for update' };
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(lock);
        // The server gets no end of the connection, as when a cable is pulled.
        proxy.cut();
        await transaction.query(lock);
      }),
    );
    assert.deepEqual(await stored.database.query<{ id: number }>(lock), [{ id: 1 }]);
  });
});
