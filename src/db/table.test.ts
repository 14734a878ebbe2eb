import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  booleanColumn,
  bytesColumn,
  countColumn,
  dateColumn,
  instantColumn,
  jsonbColumn,
  jsonColumn,
  listColumn,
  orNull,
  selection,
  tableColumns,
  textColumn,
} from './table.ts';

const NOW = new Date('2026-11-01T00:00:00.000Z');

describe('descriptions of columns', () => {
  const keys = selection({
    id: textColumn('id'),
    isRevoked: booleanColumn('revoked_at is not null as is_revoked'),
    allowed: selection({ models: orNull(listColumn('allowed_models')) }),
  });

  it('list columns for statements: without a table, with one, or with their own', () => {
    assert.equal(keys.list, 'id, revoked_at is not null as is_revoked, to_jsonb(allowed_models) as allowed_models');
    assert.equal(
      keys.of('k'),
      'k.id, revoked_at is not null as is_revoked, to_jsonb(k.allowed_models) as allowed_models',
    );
    const found = selection({
      key: keys.from('k'),
      name: textColumn('a.name as account_name'),
      email: textColumn('a.email'),
    });
    assert.equal(found.list, `${keys.of('k')}, a.name as account_name, a.email`);
  });

  it('convert returned rows, including nested fields and nulls', () => {
    const stored = { id: 'key_1', is_revoked: false, allowed_models: null, more: 1 };
    assert.deepEqual(keys.read(stored), { id: 'key_1', isRevoked: false, allowed: { models: null } });
    assert.deepEqual(keys.all([stored]), [keys.first([stored])]);
    assert.equal(keys.first([]), null);
    assert.equal(keys.to(({ id }) => id.length).read(stored), 5);
    assert.equal(selection({ length: keys.from('k').to(({ id }) => id.length) }).read(stored).length, 5);
  });

  it('write back what they have read', () => {
    const columns = tableColumns({
      text: textColumn('a'),
      actor: tableColumns({ count: countColumn('b'), atMs: instantColumn('c') }),
      at: orNull(dateColumn('d')),
      none: orNull(dateColumn('e')),
      bytes: bytesColumn('f'),
      json: jsonbColumn<{ x: number }>('g'),
      jsonText: jsonColumn<{ x: number }>('h'),
    });
    const row = columns.read({
      a: 'x',
      b: 5n,
      c: NOW,
      d: NOW,
      e: null,
      f: new Uint8Array([255]),
      g: { x: 1 },
      h: '{"x":2}',
    });
    const json = { json: { x: 1 }, jsonText: { x: 2 } };
    const actor = { count: 5, atMs: NOW.getTime() };
    assert.deepEqual(row, { text: 'x', actor, at: NOW, none: null, bytes: Buffer.from([255]), ...json });
    const instant = NOW.toISOString();
    assert.deepEqual(columns.valuesOf(row), ['x', 5, instant, instant, null, '\\xff', '{"x":1}', '{"x":2}']);
    assert.match(columns.rows.as('v'), /^json_to_recordset\(\$1::json\) as v \(a text, b bigint, c timestamptz, /);
    assert.match(columns.parameters(3), /^\$3::text, \$4::bigint, \$5::timestamptz, /);
  });

  it('refuse duplicate column names, and rows that lack a column', () => {
    assert.throws(
      () => selection({ id: textColumn('k.id'), accountId: textColumn('a.id') }),
      /two columns have the same name/,
    );
    assert.throws(() => keys.read({ id: 'key_1', is_revoked: true }), /does not select allowed_models/);
  });
});
