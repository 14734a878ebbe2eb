import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { toTimestamp } from './columns.ts';
import { JsonRows } from './json-rows.ts';

interface Row {
  readonly text: string | null;
  readonly big: bigint | null;
  readonly int: number | null;
  readonly flag: boolean | null;
  readonly at: number | null;
  readonly json: unknown;
  readonly list: readonly string[] | null;
  readonly member: { readonly count: number } | null;
}

const ROWS = new JsonRows<Row>([
  { name: 't', type: 'text', within: null, field: 'text', write: null },
  { name: 'b', type: 'bigint', within: null, field: 'big', write: null },
  { name: 'i', type: 'int', within: null, field: 'int', write: null },
  { name: 'f', type: 'boolean', within: null, field: 'flag', write: null },
  { name: 'a', type: 'timestamptz', within: null, field: 'at', write: toTimestamp },
  { name: 'j', type: 'jsonb', within: null, field: 'json', write: JSON.stringify },
  { name: 'l', type: 'text[]', within: null, field: 'list', write: (list: readonly string[]) => `{${list.join(',')}}` },
  { name: 'm', type: 'int', within: 'member', field: 'count', write: null, without: 0 },
]);
const TEXT = `select v.t, v.b, v.i, v.f, v.a, v.j, v.l, v.m from ${ROWS.as('v')}`;
const SELECT = { name: 'test.json-rows', text: TEXT };
const ON_CITUS = { name: 'test.json-rows-on-citus', text: ROWS.onCitus(TEXT, 'v') };

describe('rows in one parameter', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored?.remove());

  /** Expected values as stored: an unpaired surrogate is not a character. */
  const expected = ({ text, big, int, flag, at, json, list, member }: Row) => ({
    t: text?.toWellFormed() ?? null,
    ...{ b: big, i: int, f: flag, a: at === null ? null : new Date(at), j: json, l: list, m: member?.count || null },
  });

  it('are read as they were written, with both protocols and in the form for Citus', async () => {
    const orNull = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: null });
    const row = fc.record<Row>({
      text: orNull(fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))),
      big: orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      int: orNull(fc.integer()),
      flag: orNull(fc.boolean()),
      at: orNull(fc.integer({ min: 0, max: 4_102_444_800_000 })),
      json: orNull(fc.constantFrom({ a: "'" }, [1, 'two', null], 'text', 5)),
      list: orNull(fc.array(fc.constantFrom('a', 'b_c'))),
      member: orNull(fc.record({ count: fc.nat(2) })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 5 }), async (rows) => {
        const parameters = [ROWS.parameter(rows)];
        for (const statement of [SELECT, ON_CITUS])
          assert.deepEqual(await stored.database.query(statement, parameters), rows.map(expected));
        const inSql = await stored.database.readThenWrite({
          name: 'test.rows',
          reads: [{ statement: SELECT, parameters }],
          decide: ([found]) => ({ writes: [], result: found! }),
        });
        assert.deepEqual(inSql, rows.map(expected));
      }),
      { numRuns: 60 },
    );
  });

  it('are refused as a data error if a text contains a zero byte', async () => {
    const none = { big: null, int: null, flag: null, at: null, json: null, list: null, member: null };
    const parameters = [ROWS.parameter([{ ...none, text: 'a\0b' }])];
    await assert.rejects(stored.database.query(SELECT, parameters), { code: '22P05' });
  });

  it('produce no statement if there are none', () => {
    assert.deepEqual(ROWS.write(SELECT, []), []);
  });
});
