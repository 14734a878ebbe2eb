import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { MARKS, tablesIn } from '../../scripts/sql-tables.ts';

const directory = mkdtempSync(join(tmpdir(), 'faregate-homes-'));
after(() => rmSync(directory, { recursive: true }));

/** Checks a file with these lines; returns the refused lines and the reasons. */
function check(...lines: string[]): { status: number | null; refused: string[] } {
  const file = join(directory, 'store.ts');
  writeFileSync(file, lines.join('\n'));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-homes.ts', file], { encoding: 'utf8' });
  const refused = stderr.split('\n').filter((line) => / (?:uses|takes a) /.test(line));
  return { status, refused: refused.map((line) => line.slice(line.lastIndexOf('store.ts:') + 'store.ts:'.length)) };
}

describe('check-homes', () => {
  it('rejects a statement with tables of both homes', () => {
    const { status, refused } = check(
      'export const a = { name: "a", text: `select from calls c join accounts a on a.id = c.account_id` };',
      'export const b = "with gone as (delete from users) insert into balances select";',
      'export const c = "select (select count(*) from nodes), (select count(*) from reservations r)";',
      'export const d = "lock table api_keys, key_limits in share mode";',
    );
    assert.equal(status, 1);
    assert.deepEqual(refused, [
      '1 uses calls (partition), accounts (directory)',
      '2 uses users (directory), balances (partition)',
      '3 uses nodes (directory), reservations (partition)',
      '4 uses api_keys (directory), key_limits (partition)',
    ]);
  });

  it('rejects connections of the other home, or of any home', () => {
    const { status, refused } = check(
      "import type { Database, DatabasePool, Queryable } from '../../src/db/database.ts';",
      "import type { DirectoryPool, HomePools, PartitionPool } from '../../src/db/home-pools.ts';",
      'export const a = "select from accounts";',
      'export const b = (pool: DatabasePool) => pool;',
      'export const c = (partition: PartitionPool, on: Pick<Queryable, "query">) => [partition, on];',
      'export const d = (directory: DirectoryPool, homes: HomePools, query: Database["query"]) => [directory, homes, query];',
    );
    assert.equal(status, 1);
    assert.deepEqual(refused, ['4 takes a DatabasePool', '5 takes a PartitionPool', '5 takes a Queryable']);
  });

  it('follows constants, lists, functions and their arguments', () => {
    writeFileSync(join(directory, 'other.ts'), 'export const OF_PERSON = "exists (select from memberships m)";');
    const { status, refused } = check(
      "import { OF_PERSON } from './other.ts';",
      'const KEYS = selection({ id: textColumn("id"), isOwn: booleanColumn(`${OF_PERSON} as is_own`) });',
      'export const a = { name: "a", text: `select ${KEYS.list} from key_limits` };',
      "export const b = ['vouchers', 'calls'].map((table) => `select from ${table}`).join(' union all ');",
      'const isThere = (from: string) => `(select true from ${from} limit 1)`;',
      "export const c = `select ${isThere('usage_queue q')} from users`;",
      'const inTable = (table: string, more: string) => ({ name: table, text: `select from ${table} t ${more}` });',
      "export const d = [inTable('calls', ''), inTable('users', 'where x'), inTable('users', 'join calls c using (id)')];",
    );
    assert.equal(status, 1);
    assert.deepEqual(
      refused.map((line) => line.replace(/, called at .*store\.ts:/, ' by ')),
      [
        '3 uses memberships (directory), key_limits (partition)',
        '4 uses vouchers (directory), calls (partition)',
        '6 uses usage_queue (partition), users (directory)',
        '8 uses users (directory), calls (partition)',
      ],
    );
  });

  it('accepts a table name from run time only without other tables', () => {
    const { refused } = check(
      'export const a = (table: string) => `select from ${table} t join users u using (id)`;',
      'export const b = (table: string) => `delete from ${table}`;',
    );
    assert.deepEqual(refused, ['1 uses ?, users (directory)']);
  });

  it('recognizes monthly partitions of calls', () => {
    const { refused } = check(
      'const tableOf = (month: string) => `calls_${month}`;',
      'export const a = (month: string) => `select from ${tableOf(month)} c join users u using (id)`;',
      'export const b = (month: string) => `select from ${tableOf(month)} c join ledger_entries e using (id)`;',
      'export const c = `select from calls_default c join users u using (id)`;',
    );
    assert.deepEqual(refused, [
      '2 uses calls (partition), users (directory)',
      '4 uses calls (partition), users (directory)',
    ]);
  });

  it('accepts statements of one home, regardless of column names', () => {
    const { status, refused } = check(
      'export const a = "select accounts, n.users from calls n where n.at is distinct from accounts -- from users";',
      "export const b = `select 'from users, nodes' as text from calls order by accounts, users`;",
    );
    assert.deepEqual([status, refused], [0, []]);
  });
});

describe('tablesIn', () => {
  const known = new Set(['calls', 'users', 'nodes']);
  const of = (sql: string): string[] => [...tablesIn(sql, known)].sort();

  for (const [sql, tables] of [
    ['select from calls c, lateral (select from users) u, nodes', ['calls', 'nodes', 'users']],
    ['update calls c set users = 1 from nodes n where true', ['calls', 'nodes']],
    ['delete from only calls using users', ['calls', 'users']],
    ['insert into calls (nodes, users) select a, nodes from f(users)', ['calls']],
    ['select from (calls c join users u on true)', ['calls', 'users']],
    ['select extract(epoch from nodes.at) from calls for update of calls', ['calls']],
    ["select 'it''s from users' from calls /* from nodes */", ['calls']],
    [
      `select from ${MARKS.open}calls${MARKS.or}(select from users)${MARKS.close} x, nodes`,
      ['calls', 'nodes', 'users'],
    ],
  ] as const) {
    it(`are ${tables.join(', ')} in: ${sql.replace(/[\ue000-\ue003]/g, '|')}`, () => assert.deepEqual(of(sql), tables));
  }
});
