import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import type { Database, Parameter, Statement } from '../../src/db/database.ts';
import { isDataError, sqlState } from '../../src/db/errors.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { formsOf } from '../support/canaries.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

/** What no error may contain. */
const SECRET = "sk-fg-c4naryOf'Prompts";

interface Failing {
  readonly what: string;
  readonly code: string;
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

const insertItem = { name: 'test.insert-item', text: 'insert into items (id, size, body) values ($1, $2, $3)' };

const failing: readonly Failing[] = [
  {
    what: 'a value that is no number',
    code: '22P02',
    statement: { name: 'test.to-number', text: 'select $1::text::int as n' },
    parameters: [SECRET],
  },
  {
    what: 'an array that is none',
    code: '22P02',
    statement: { name: 'test.to-array', text: 'select $1::text[] as n' },
    parameters: [SECRET],
  },
  { what: 'a row that is there already', code: '23505', statement: insertItem, parameters: [SECRET, 1, null] },
  { what: 'a row that breaks a check', code: '23514', statement: insertItem, parameters: [`${SECRET}2`, -1, null] },
  {
    what: 'a row without what it needs',
    code: '23502',
    statement: insertItem,
    parameters: [`${SECRET}3`, null, Buffer.from(SECRET)],
  },
  {
    what: 'an exception that quotes its row',
    code: 'P0001',
    statement: { name: 'test.raise', text: 'select raise_with($1) as n' },
    parameters: [SECRET],
  },
];

describe(`the error of a statement`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    await database.script(`create table items (id text primary key, size int not null check (size > 0), body bytea);
        create function raise_with(value text) returns int language plpgsql
          as $$ begin raise exception 'the value "%" is wrong', value using detail = value, hint = value; end $$;`);
    await database.query(insertItem, [SECRET, 1, null]);
  });
  after(() => stored.remove());

  const ways: readonly [way: string, run: (failing: Failing) => Promise<unknown>][] = [
    ['alone', ({ statement, parameters }) => database.query(statement, parameters)],
    [
      'in a transaction',
      ({ statement, parameters }) => database.transaction((transaction) => transaction.query(statement, parameters)),
    ],
    [
      'as a read of two messages',
      ({ statement, parameters }) =>
        database.readThenWrite({
          name: statement.name,
          reads: [{ statement, parameters }],
          decide: () => ({ writes: [], result: null }),
        }),
    ],
    [
      'as a write of two messages',
      ({ statement, parameters }) =>
        database.readThenWrite({
          name: statement.name,
          reads: [],
          decide: () => ({ writes: [{ statement, parameters }], result: null }),
        }),
    ],
  ];
  for (const [way, run] of ways) {
    it(`${way} contains the statement’s name and the code, but no values`, async () => {
      for (const each of failing) {
        const error = await run(each).then(
          () => assert.fail(`${each.what} is no error`),
          (thrown: unknown) => thrown,
        );
        assert.ok(error instanceof Error);
        assert.equal(sqlState(error), each.code, each.what);
        assert.ok(error.message.startsWith(`${each.statement.name}: `), error.message);
        assert.equal(isDataError(error), /^2[23]/.test(each.code));
        const said = inspect(error, { depth: null, showHidden: true });
        for (const form of formsOf(SECRET)) assert.ok(!said.includes(form), said);
      }
    });
  }

  it('names a violated constraint, and a missing table', async () => {
    await assert.rejects(database.query(insertItem, [SECRET, 1, null]), /items_pkey/);
    await assert.rejects(
      database.query({ name: 'test.no-table', text: 'select * from nowhere' }),
      /"nowhere" does not/,
    );
  });

  it('thrown by the caller of a transaction is not changed', async () => {
    const mine = new Error(SECRET);
    await assert.rejects(
      database.transaction(() => Promise.reject(mine)),
      (error) => error === mine,
    );
    const deciding = database.readThenWrite({
      name: 'test.decide',
      reads: [],
      decide: () => {
        throw mine;
      },
    });
    await assert.rejects(deciding, (error) => error === mine);
  });
});

describe('a lost idle connection', { timeout: 60_000 }, () => {
  it('is logged without the connection, which contains the password and prepared statements', async () => {
    const stored = await createTestDatabase();
    const proxy = await startProxy(stored.url);
    const logs = recordLogs();
    const database = openPostgres({ url: proxy.url, logger: logs.logger });
    try {
      await database.query({ name: 'test.one', text: 'select 1 as one' });
      proxy.cut();
      await until(() => logs.lines.length > 0);
      assert.match(logs.text(), /an idle database connection failed/);
      assert.doesNotMatch(logs.text(), /select 1 as one|password/);
    } finally {
      await database.close();
      await proxy.close();
      await stored.remove();
    }
  });
});
