import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const one = { name: 'test.one', text: 'select 1 as one' };
const sleeping = {
  name: 'test.sleeping',
  text: `select from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(3601)'`,
};

/** A process that opens the database, closes it on request, and exits when nothing is left to do. */
const closing = (url: string): string => `
import { openPostgres } from ${JSON.stringify(new URL('../../src/db/postgres.ts', import.meta.url).href)};
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const database = openPostgres({ url: ${JSON.stringify(url)}, logger });
await database.query({ name: 'test.one', text: 'select 1 as one' });
process.stdin.once('data', () => {
  process.stdin.destroy();
  void database.close();
});
console.log('open');`;

describe('a connection that is lost', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  let database: Database;
  before(async () => {
    stored = await createTestDatabase();
    proxy = await startProxy(stored.url);
    database = openPostgres({ url: proxy.url, logger: silentLogger, statementTimeoutMs: 500 });
  });
  after(async () => {
    await database.close();
    await proxy.close();
    await stored.remove();
  });

  // The driver also emits an event; without a listener it would end the process with all calls in flight.
  for (const [when, work] of [
    ['between two statements of a transaction', async () => undefined],
    [
      'while a statement of a transaction is running',
      async (query: Database['query']) => {
        await query({ name: 'test.forever', text: 'select pg_sleep(3600)' });
      },
    ],
  ] as const) {
    it(`${when} fails that transaction, and the next one uses another connection`, async () => {
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

  it('while a script is running fails that script', async () => {
    const script = assert.rejects(database.script('select pg_sleep(3601)'));
    await until(async () => (await stored.database.query(sleeping)).length > 0);
    proxy.cut();
    await script;
  });

  it('leaves no row locked: the server ends a transaction whose client sends nothing more', async () => {
    await stored.database.script(`create table contended (id int primary key); insert into contended values (1)`);
    const lock = { name: 'test.lock-contended', text: 'select id from contended where id = 1 for update' };
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(lock);
        // The server does not notice the end of the connection, as when a cable is pulled.
        proxy.cut();
        await transaction.query(lock);
      }),
    );
    assert.deepEqual(await stored.database.query<{ id: number }>(lock), [{ id: 1 }]);
  });
});

describe('connections', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());

  it('that the server does not close do not keep a process alive', async (context) => {
    const { hostname, port } = new URL(stored.url);
    let isSilent = false;
    // A stopped server: its system accepts data and the end of a connection, but nothing responds.
    const status = createServer({ allowHalfOpen: true }, (client) => {
      const server = connect(Number(port), hostname);
      client.on('data', (bytes) => isSilent || server.write(bytes)).on('error', () => undefined);
      server.on('data', (bytes) => client.write(bytes)).on('error', () => undefined);
      context.after(() => server.destroy());
    });
    const near = await listenOnLoopback(status);
    context.after(near.close);
    const url = new URL(stored.url);
    url.host = `127.0.0.1:${near.port}`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', closing(url.href)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    context.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    isSilent = true;
    child.stdin.write('close\n');
    assert.deepEqual(await ended, [0, null]);
  });
});
