import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { isUnavailable, StatementError, sqlState } from '../../src/db/errors.ts';
import { placeEmbedded } from '../support/database.ts';
import { EngineSyncs } from '../support/engine-syncs.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

/** A table with one row. */
const MAKE_KEPT = 'create table kept (n integer); insert into kept values (1)';
const countRows = { name: 'test.count-kept', text: 'select count(*)::int as n from kept' };
const insertRow = { name: 'test.insert-kept', text: 'insert into kept values (1)' };
const takesLong = { name: 'test.takes-long', text: 'select count(*)::int as n from generate_series(1, 300000)' };
const failsAtOnce = { name: 'test.fails', text: 'select 1 / $1::int as one' };
const turn = (): Promise<void> => new Promise(setImmediate);

describe('the thread of the embedded database', { timeout: 60_000 }, () => {
  let dataDir: string;
  let syncs: EngineSyncs;
  let database: Database;
  before(async () => {
    dataDir = makeFastDirectory('faregate-thread-');
    placeEmbedded(dataDir);
    syncs = new EngineSyncs();
    database = await syncs.open(dataDir);
  });
  beforeEach(() => database.script(`drop table if exists kept; ${MAKE_KEPT}`));
  afterEach(() => syncs.order('nothing else'));
  after(async () => {
    await database.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('waits for the disk while events go on', async () => {
    syncs.order('wait');
    let isStored = false;
    const stored = database.query(insertRow).then(() => {
      isStored = true;
    });
    await until(() => syncs.waits === 1);
    for (let turns = 0; turns < 1_000; turns++) await turn();
    assert.equal(isStored, false);
    syncs.order('nothing else');
    await stored;
    assert.deepEqual(await database.query(countRows), [{ n: 2 }]);
  });

  test('runs a long statement while events go on', async () => {
    let isOver = false;
    const rows = database.query(takesLong).finally(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver; turns++) await turn();
    assert.deepEqual(await rows, [{ n: 300_000 }]);
    assert.ok(turns > 100, `${turns} turns of the event loop`);
  });

  test('lets what came meanwhile run before the next slice of an audit', async () => {
    const order: string[] = [];
    await database.readTables(async (reader) => {
      const first = reader.query(countRows).then(() => order.push('first slice'));
      const other = database.query(countRows).then(() => order.push('other work'));
      await first;
      await reader.query(countRows);
      order.push('second slice');
      await other;
    });
    assert.deepEqual(order, ['first slice', 'other work', 'second slice']);
  });

  test('gives the state, the statement and the words of an error, and none of its values', async () => {
    const isDivision = (error: unknown): boolean => {
      assert.ok(error instanceof StatementError);
      assert.equal(sqlState(error), '22012');
      assert.equal(error.message, 'test.fails: the database refuses a value');
      assert.equal(isUnavailable(error), false);
      return true;
    };
    await assert.rejects(database.query(failsAtOnce, [0]), isDivision);
    await assert.rejects(
      database.transaction((transaction) => transaction.query(failsAtOnce, [0])),
      isDivision,
    );
    await database.script('create unique index kept_once on kept (n)');
    await assert.rejects(database.query(insertRow), (error) => {
      assert.ok(error instanceof StatementError);
      assert.deepEqual([error.code, error.constraint], ['23505', 'kept_once']);
      return true;
    });
    assert.deepEqual(await database.query(failsAtOnce, [1]), [{ one: 1 }]);
  });

  test('prepares a statement again whose message failed before it, and does not prepare one twice', async () => {
    const wrong = { name: 'test.wrong', text: 'select 1 from absent' };
    const right = { name: 'test.right', text: 'select 2 as two' };
    const read = (...statements: { name: string; text: string }[]) =>
      database.readThenWrite({
        name: 'test.reads',
        reads: statements.map((statement) => ({ statement, parameters: [] })),
        decide: (rows) => ({ writes: [], result: rows }),
      });
    await assert.rejects(read(wrong, right), /test\.wrong: relation "absent" does not exist/);
    await assert.rejects(read(right, wrong), /test\.wrong: relation "absent" does not exist/);
    assert.deepEqual(await read(right), [[{ two: 2 }]]);
  });

  test('has no transaction that goes on behind its end', async () => {
    const kept = await database.transaction(async (transaction) => {
      await transaction.query(countRows);
      return { transaction };
    });
    await assert.rejects(kept.transaction.query(insertRow), /comes after the end of its transaction/);
    assert.deepEqual(await database.query(countRows), [{ n: 1 }]);
  });
});

describe('the thread of the embedded database at its end', { timeout: 60_000 }, () => {
  let dataDir: string;
  let syncs: EngineSyncs;
  let database: Database;
  beforeEach(async () => {
    dataDir = makeFastDirectory('faregate-thread-');
    placeEmbedded(dataDir);
    syncs = new EngineSyncs();
    database = await syncs.open(dataDir);
    await database.script(MAKE_KEPT);
  });
  afterEach(async () => {
    syncs.order('nothing else');
    await database.close().catch(() => undefined);
    rmSync(dataDir, { recursive: true, force: true });
  });

  for (const [how, order, reason] of [
    ['ends itself', 'end the thread', /has stopped, .*: its thread has ended with exit code 3/],
    ['fails', 'throw what nobody catches', /has stopped, .*: its thread has failed: nobody catches this/],
  ] as const) {
    test(`takes the database down if it ${how}, with all that is asked`, async () => {
      syncs.order(order);
      const inserted = database.query(insertRow);
      const asked = Promise.allSettled([
        database.query(countRows),
        database.transaction((transaction) => transaction.query(countRows)),
        database.readThenWrite({
          name: 'test.read-then-write',
          reads: [{ statement: countRows, parameters: [] }],
          decide: () => ({ writes: [], result: null }),
        }),
        database.script('select 1'),
        database.subscribe(
          'test',
          () => undefined,
          () => undefined,
        ),
      ]);
      // It is on the disk: the response may have gone before the thread did.
      const isAcknowledged = await inserted.then(
        () => true,
        (error: Error) => {
          assert.match(error.message, reason);
          return false;
        },
      );
      for (const each of await asked) {
        assert.ok(each.status === 'rejected');
        assert.match(each.reason.message, reason);
        assert.ok(isUnavailable(each.reason));
      }
      await assert.rejects(database.query(countRows), (error) => {
        assert.ok(error instanceof StatementError && error.statement === countRows.name);
        assert.match(error.message, reason);
        return true;
      });
      await database.close();
      database = await openEmbedded({ dataDir });
      const [row] = await database.query<{ n: number }>(countRows);
      assert.ok(row!.n === 2 || (row!.n === 1 && !isAcknowledged), `${row!.n} rows`);
    });
  }

  test('is told of in the log if it ends by itself, and is not if it is closed', async () => {
    await database.close();
    const { logger, lines } = recordLogs();
    database = await syncs.open(dataDir, logger);
    await database.close();
    assert.deepEqual(lines, []);
    database = await syncs.open(dataDir, logger);
    syncs.order('end the thread');
    await assert.rejects(database.query(insertRow));
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['the thread of the embedded database has ended'],
    );
  });
});

test('a database that is opened after another one has its thread, and nothing of it', {
  timeout: 60_000,
}, async (context) => {
  const dataDirs = ['first', 'second'].map(() => makeFastDirectory('faregate-thread-'));
  context.after(() => {
    for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
  });
  for (const dataDir of dataDirs) placeEmbedded(dataDir);
  const [first, second] = dataDirs as [string, string];
  const one = { name: 'test.statement', text: 'select 1 as n' };
  const two = { name: 'test.statement', text: 'select 2 as n' };
  const heard: string[] = [];
  const listen = (database: Database): Promise<unknown> =>
    database.subscribe(
      'test',
      (payload) => heard.push(payload),
      () => undefined,
    );

  const before = await openEmbedded({ dataDir: first });
  await listen(before);
  assert.deepEqual(await before.query(one), [{ n: 1 }]);
  await before.script('set search_path to pg_catalog');
  const threads = countThreads();
  await before.close();
  await before.close();

  const after = await openEmbedded({ dataDir: second });
  assert.equal(countThreads(), threads);
  assert.deepEqual(await after.query(two), [{ n: 2 }]);
  assert.deepEqual(await after.query({ name: 'test.path', text: 'show search_path' }), [{ search_path: 'public' }]);
  await after.script(`notify test, 'unheard'`);
  await listen(after);
  await after.script(`notify test, 'heard'`);
  assert.deepEqual(heard, ['heard']);
  await assert.rejects(before.query(one), /the database is closed/);
  await before.close();
  assert.deepEqual(await after.query(two), [{ n: 2 }]);

  // Two at once have a thread each, of which one is kept.
  const beside = await openEmbedded({ dataDir: first });
  assert.equal(countThreads(), threads + 1);
  await beside.close();
  await after.close();
  assert.equal(countThreads(), threads);
});

const countThreads = (): number =>
  readdirSync('/proc/self/task').filter((id) =>
    readFileSync(`/proc/self/task/${id}/comm`, 'utf8').startsWith('embedded databa'),
  ).length;

test('an open embedded database keeps no process running, and what is asked of it does', {
  timeout: 60_000,
}, async (context) => {
  const dataDir = makeFastDirectory('faregate-thread-');
  context.after(() => rmSync(dataDir, { recursive: true, force: true }));
  placeEmbedded(dataDir);
  const script = `
import { openEmbedded } from ${JSON.stringify(new URL('../../src/db/embedded.ts', import.meta.url).href)};
const database = await openEmbedded({ dataDir: ${JSON.stringify(dataDir)} });
void database.query({ name: 'test.one', text: 'select 1 as one' }).then(([{ one }]) => console.log('it is', one));
`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', script]);
  assert.equal(stdout, 'it is 1\n');
});
