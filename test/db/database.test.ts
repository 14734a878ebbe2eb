import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Database, type Parameter, toArray } from '../../src/db/database.ts';
import { isDataError, sqlState } from '../../src/db/errors.ts';
import { anyCharacter } from '../support/any-text.ts';

import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { propertyRuns } from '../support/scope.ts';

/** Properties of a database that the stores rely on. */

/** Text that PostgreSQL can store: no zero byte, and only paired surrogates. */
const storableText = fc.string({ unit: anyCharacter }).map((text) => text.replaceAll('\0', ''));
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe(`a statement`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    await database.script('create table notes (id bigint primary key, body text not null)');
  });
  after(() => stored?.remove());

  test('stores and returns arrays of any text', async () => {
    const statement = {
      name: 'test.texts',
      text: 'select item from unnest($1::text[]) with ordinality as given (item, position) order by position',
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(storableText, { freq: 10 })), async (texts) => {
        const rows = await database.query<{ item: string | null }>(statement, [toArray(texts)]);
        assert.deepEqual(
          rows.map((row) => row.item),
          texts,
        );
      }),
      {
        numRuns: propertyRuns(200),
        examples: [
          [[]],
          [
            [
              '',
              ' ',
              'NULL',
              null,
              'null',
              '{}',
              '{a,b}',
              '"',
              '\\',
              '\\"',
              '"\\',
              ',',
              "'",
              "''",
              '$1',
              '\n\r\t',
              '\\x00',
              '\u{1f600}',
            ],
          ],
        ],
      },
    );
  });

  test('stores arrays of integers up to 64 bits, and of booleans', async () => {
    const statement = {
      name: 'test.numbers',
      text: `select number, flag from unnest($1::bigint[], $2::boolean[]) with ordinality as given (number, flag, position)
order by position`,
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ number: fc.option(int64), flag: fc.option(fc.boolean()) }, { noNullPrototype: true })),
        async (given) => {
          const numbers = toArray(given.map(({ number }) => number));
          const flags = toArray(given.map(({ flag }) => flag));
          assert.deepEqual(await database.query(statement, [numbers, flags]), given);
        },
      ),
      { numRuns: propertyRuns(50) },
    );
  });

  test('stores any text unchanged, without SQL injection', async () => {
    const statement = { name: 'test.text', text: 'select $1::text as body' };
    await fc.assert(
      fc.asyncProperty(storableText, async (body) => {
        assert.deepEqual(await database.query(statement, [body]), [{ body }]);
      }),
      {
        numRuns: propertyRuns(100),
        examples: [["'); drop table notes; --"], ["\\'"], ["''"], ['$$'], [''], ['NULL']],
      },
    );
    assert.deepEqual(await database.query({ name: 'test.count-notes', text: 'select count(*) as n from notes' }), [
      { n: 0n },
    ]);
  });

  test('returns each column type as the stores expect', async () => {
    const at = new Date('2026-11-20T04:05:06.789Z');
    const parameters: Parameter[] = [
      7,
      2n ** 62n,
      true,
      at,
      Buffer.from([0, 1, 255]),
      null,
      '2026-11-20',
      '{"a":["1"]}',
    ];
    const [row] = await database.query(
      {
        name: 'test.types',
        text: `select $1::int as small, $2::bigint as large, $3::boolean as flag, $4::timestamptz as at, $5::bytea as bytes,
  $6::text as nothing, $7::date as day, $8::jsonb as value`,
      },
      parameters,
    );
    assert.deepEqual(row, {
      small: 7,
      large: 2n ** 62n,
      flag: true,
      at,
      bytes: Buffer.from([0, 1, 255]),
      nothing: null,
      day: '2026-11-20',
      value: { a: ['1'] },
    });
  });

  test('uses an index, even if the table was empty when it was planned', async () => {
    await database.script('create table visits (id bigint primary key)');
    await database.script('vacuum visits');
    const plan = await database.query<{ 'QUERY PLAN': string }>({
      name: 'test.plan',
      text: 'explain select from visits join unnest(array[1, 2]) as given (id) using (id)',
    });
    const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
    assert.match(lines, /visits_pkey/);
    assert.doesNotMatch(lines, /Seq Scan/);
  });

  test('with a zero byte in its text fails as a data error, like an invalid number', async () => {
    const insert = { name: 'test.insert-zero', text: 'insert into notes values ($1::bigint, $2)' };
    for (const parameters of [
      [1, 'a\0b'],
      [1, `a'\0'); delete from notes; --`],
      ['one', 'text'],
      [2n ** 63n, 'text'],
      [1, null],
    ]) {
      await assert.rejects(database.query(insert, parameters), (error) => {
        assert.ok(isDataError(error), `${sqlState(error)}: ${String(error)}`);
        return true;
      });
    }
    await database.query(insert, [1, 'fine']);
    await assert.rejects(database.query(insert, [1, 'again']), { code: '23505' });
    assert.deepEqual(await database.query({ name: 'test.take-notes', text: 'delete from notes returning *' }), [
      { id: 1n, body: 'fine' },
    ]);
  });

  test('of an audit has settings of its own, and cannot write', async () => {
    const setting = {
      name: 'test.setting',
      text: `select current_setting('work_mem') as value, $1::text as given`,
    };
    const reader = await database.openTables();
    const values = [
      await reader.query(setting, ['a']),
      await database.query(setting, ['b']),
      await reader.query(setting, ['c']),
    ];
    assert.deepEqual(values, [
      [{ value: '32MB', given: 'a' }],
      [{ value: '4MB', given: 'b' }],
      [{ value: '32MB', given: 'c' }],
    ]);
    const write = { name: 'test.write', text: `insert into notes values (-1, 'written')` };
    await assert.rejects(reader.query(write), (error) => sqlState(error) === '25006');
    await reader.close();
    assert.deepEqual(await database.query(setting, ['d']), [{ value: '4MB', given: 'd' }]);
    assert.deepEqual(await database.query({ name: 'test.written', text: 'select 1 from notes where id = -1' }), []);
  });

  test('of a cursor returns batches from one snapshot, interleaved with other cursors', async () => {
    const numbers = { name: 'test.numbers', text: 'select n::int from generate_series(1, $1::int) n order by n' };
    const reader = await database.openSnapshots();
    try {
      const [five, two] = [5, 2].map((n) => reader.cursor<{ n: number }>(numbers, [n]));
      const found: number[][] = [];
      for (const cursor of [five!, two!, five!, two!, five!]) found.push((await cursor.fetch(2)).map(({ n }) => n));
      assert.deepEqual(found, [[1, 2], [1, 2], [3, 4], [], [5]]);
    } finally {
      await reader.close();
    }
  });

  test('with invalid SQL is not a data error', async () => {
    const statement = { name: 'test.wrong', text: 'select * from no_such_table' };
    for (let i = 0; i < 2; i++) {
      await assert.rejects(database.query(statement), (error) => sqlState(error) === '42P01' && !isDataError(error));
    }
  });

  test('can be used concurrently from its first use on', async () => {
    const statement = { name: 'test.first-use', text: 'select $1::int as n' };
    const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => database.query(statement, [n])));
    assert.deepEqual(
      responses.flat(),
      Array.from({ length: 20 }, (_, n) => ({ n })),
    );
  });

  test('can be used for the first time by concurrent transactions, one of which fails', async () => {
    const statement = { name: 'test.first-use-in-transaction', text: 'select $1::int as n' };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) =>
        database.transaction(async (transaction) => {
          const [row] = await transaction.query<{ n: number }>(statement, [n]);
          if (n === 0) throw new Error('given up');
          return row?.n;
        }),
      ),
    );
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed')),
      ['failed', 1, 2, 3, 4, 5, 6, 7],
    );
    assert.deepEqual(await database.query(statement, [9]), [{ n: 9 }]);
  });
});

describe(`a transaction`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  const insert = { name: 'test.insert', text: 'insert into notes values ($1::bigint, $2)' };
  const ids = async (): Promise<bigint[]> => {
    const rows = await database.query<{ id: bigint }>({ name: 'test.ids', text: 'select id from notes order by id' });
    return rows.map(({ id }) => id);
  };
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    await database.script('create table notes (id bigint primary key, body text not null)');
  });
  after(() => stored?.remove());

  test('that throws is rolled back, and the next one works', async () => {
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(insert, [1, 'one']);
        throw new Error('given up');
      }),
      /given up/,
    );
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(insert, [1, 'one']);
        await transaction.query(insert, [1, 'once more']);
      }),
      { code: '23505' },
    );
    assert.deepEqual(await ids(), []);
    const response = await database.transaction(async (transaction) => {
      await transaction.query(insert, [1, 'one']);
      await transaction.query(insert, [2, 'two']);
      return 'done';
    });
    assert.equal(response, 'done');
    assert.deepEqual(await ids(), [1n, 2n]);
  });

  test('is invisible to others before it ends', async () => {
    const inserted = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const writing = database.transaction(async (transaction) => {
      await transaction.query(insert, [3, 'three']);
      inserted.resolve();
      await goOn.promise;
      throw new Error('given up');
    });
    await inserted.promise;
    const reading = ids();
    goOn.resolve();
    await assert.rejects(writing, /given up/);
    assert.deepEqual(await reading, [1n, 2n]);
  });
});

describe(`a subscription`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  const notify = { name: 'test.notify', text: 'select pg_notify($1, $2)' };
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
  });
  after(() => stored?.remove());

  test('receives its own channel in order, transactions only after their commit, and nothing after its close', async () => {
    const heard: string[] = [];
    const last = Promise.withResolvers<void>();
    const subscription = await database.subscribe(
      'test_channel',
      (payload) => {
        heard.push(payload);
        if (payload === 'last') last.resolve();
      },
      () => heard.push('reconnected'),
    );
    assert.equal(subscription.isConnected, true);
    await database.query(notify, ['other_channel', 'not ours']);
    await database.query(notify, ['test_channel', 'first']);
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(notify, ['test_channel', 'rolled back']);
        throw new Error('given up');
      }),
    );
    await database.transaction(async (transaction) => {
      await transaction.query(notify, ['test_channel', `it's "second"`]);
    });
    await database.query(notify, ['test_channel', 'last']);
    await last.promise;
    assert.deepEqual(heard, ['first', `it's "second"`, 'last']);

    await subscription.close();
    await database.query(notify, ['test_channel', 'too late']);
    const control = Promise.withResolvers<void>();
    const second = await database.subscribe(
      'test_channel',
      () => control.resolve(),
      () => undefined,
    );
    await database.query(notify, ['test_channel', 'control']);
    await control.promise;
    await second.close();
    assert.deepEqual(heard, ['first', `it's "second"`, 'last']);
  });
});

describe('a reader of whole tables', { timeout: 60_000 }, () => {
  test('does not prevent closing the database', async () => {
    await using stored = await createTestDatabase();
    const node = stored.openAnother();
    const reader = await node.openTables();
    const cutOff = assert.rejects(reader.query({ name: 'test.long', text: 'select pg_sleep(3600)' }));
    await node.close();
    await cutOff;
  });
});
