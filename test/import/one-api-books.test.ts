import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openForeignDatabase } from '../../src/cli/import/foreign-database.ts';
import { readBooks } from '../../src/cli/import/one-api/read-books.ts';
import type { Program } from '../../src/cli/import/one-api/versions.ts';
import { parseDecimal } from '../../src/lib/decimal.ts';
import { changeSqliteBooks, fillPostgresBooks, makeSqliteBooks } from '../fixtures/foreign-books/databases.ts';
import { createBareDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';

const AT = new Date('2026-11-28T00:00:00Z');
const RATE = parseDecimal('7.15')!;

const directory = temporaryDirectory();
after(() => directory.remove());

async function booksOf(program: Program, source: string) {
  const database = await openForeignDatabase(source);
  try {
    return await readBooks({ program, database, usdCny: RATE, at: AT });
  } finally {
    await database.close();
  }
}

/** Every account and key in the fixtures, one line each; a unit is `unitNano`. */
async function linesOf(program: Program, source: string): Promise<string[]> {
  const { accounts } = await booksOf(program, source);
  return accounts.flatMap(({ name, email, balanceNano, suspendedBecause, keys }) => [
    [name, email ?? '-', balanceNano, suspendedBecause ?? 'active'].join(' · '),
    ...keys.map((key) => {
      const { models, networks } = key.allowed;
      const lists = [models ?? 'every model', networks ?? 'from everywhere'].join(' ');
      const state = key.isRevoked ? 'revoked' : (key.expiresAt?.getUTCFullYear() ?? 'for good');
      return `  ${key.name}: ${state}, ${key.limits.totalSpendCapNano ?? 'no cap'}, ${lists}`;
    }),
  ]);
}

const ONE_API = (lin: bigint) => [
  'root · - · 0 · active',
  `lin · - · ${lin} · active`,
  '  default: for good, no cap, every model from everywhere',
  '  notebook: for good, no cap, every model from everywhere',
  '  ci: for good, 14298326900, gpt-4o-mini,gpt-4o 127.0.0.0/8,10.1.0.0/16',
  '  later: 2076, 71500000, every model from everywhere',
  '  small: for good, 0, every model from everywhere',
  'wang · wang@example.com · 1439781200 · active',
  '  default: for good, no cap, every model from everywhere',
  '  off: revoked, 4290000, every model from everywhere',
  '  old: 2026, no cap, every model from everywhere',
  '  中文 key: for good, 1765430752800, every model from everywhere',
  'chen · - · 7148326900 · disabled in one-api',
  '  default: for good, no cap, every model from everywhere',
  '  phone: for good, no cap, every model from everywhere',
  'zhao · - · 14300 · active',
  '  default: for good, no cap, every model from everywhere',
  '  empty: for good, 0, every model from everywhere',
  'ops · - · 0 · active',
  '  default: for good, no cap, every model from everywhere',
  '  ops: for good, no cap, every model from everywhere',
];

/** @param unitNano the value of a unit: 500,000 or 1,000,000 of them are a dollar */
const NEW_API = (unitNano: bigint, networks: string) => [
  'root · - · 0 · active',
  `lin · - · ${12_343_627n * unitNano} · active`,
  '  notebook: for good, no cap, every model from everywhere',
  `  ci: for good, ${999_884n * unitNano}, gpt-4o-mini,gpt-4o ${networks}`,
  `  later: 2076, ${5_000n * unitNano}, every model from everywhere`,
  `  small: for good, ${unitNano}, every model from everywhere`,
  `wang · - · ${100_684n * unitNano} · active`,
  `  off: revoked, ${300n * unitNano}, every model from everywhere`,
  '  old: 2026, no cap, every model from everywhere',
  `  中文 key: for good, ${123_456_696n * unitNano}, every model from everywhere`,
  `chen · - · ${499_884n * unitNano} · disabled in new-api`,
  '  phone: for good, no cap, every model from everywhere',
  `zhao · - · ${unitNano} · active`,
  '  empty: for good, 0, every model from everywhere',
  'ops · - · 0 · active',
  '  ops: for good, no cap, every model from everywhere',
];

const sqlite = (name: string): string => {
  const path = join(directory.path, `${name}-${Math.random()}.db`);
  makeSqliteBooks(name, path);
  return path;
};

/** SHA-256 of the keys that clients send, from the rows themselves. */
function hashesOf(source: string): string[] {
  return changeSqliteBooks(source, (database) =>
    database
      .prepare('select key from tokens')
      .all()
      .map(({ key }) => createHash('sha256').update(`sk-${key}`).digest('hex')),
  );
}

describe('accounts of one-api and new-api', () => {
  it('are read from SQLite with their keys, balances and limits', async () => {
    assert.deepEqual(await linesOf('one-api', sqlite('one-api-0.6.10')), ONE_API(176_486_181_300n));
    assert.deepEqual(await linesOf('new-api', sqlite('new-api-0.6.3.1.1')), NEW_API(14_300n, '127.0.0.1,10.1.2.3'));
    assert.deepEqual(await linesOf('new-api', sqlite('new-api-0.13.2')), NEW_API(7_150n, '127.0.0.0/8,10.1.2.3'));
    assert.deepEqual(await linesOf('new-api', sqlite('new-api-1.0.0-rc.24')), NEW_API(14_300n, '127.0.0.0/8,10.1.2.3'));
  });

  it('are the same in PostgreSQL, which is read-only', async () => {
    for (const [program, name, expected] of [
      ['one-api', 'one-api-0.6.10', ONE_API(176_458_510_800n)],
      ['new-api', 'new-api-1.0.0-rc.24', NEW_API(14_300n, '127.0.0.0/8,10.1.2.3')],
    ] as const) {
      await using stored = await createBareDatabase();
      await fillPostgresBooks(name, stored.url);
      assert.deepEqual(await linesOf(program, stored.url), expected);
      const opened = await openForeignDatabase(stored.url);
      await assert.rejects(opened.select('delete from tokens'), /read-only/);
      await opened.close();
    }
  });

  it('are read without changing the SQLite file', async () => {
    const path = sqlite('new-api-1.0.0-rc.24');
    const before = readFileSync(path);
    await booksOf('new-api', path);
    const opened = await openForeignDatabase(path);
    await assert.rejects(opened.select('delete from tokens'), /readonly/);
    await opened.close();
    assert.ok(readFileSync(path).equals(before));
  });

  it('have keys with the SHA-256 of what clients send, `sk-` and the key, and its first characters', async () => {
    for (const [program, name] of [
      ['one-api', 'one-api-0.6.10'],
      ['new-api', 'new-api-1.0.0-rc.24'],
    ] as const) {
      const path = sqlite(name);
      const { accounts } = await booksOf(program, path);
      const keys = accounts.flatMap((account) => account.keys);
      const stored = new Set(hashesOf(path));
      assert.ok(keys.length >= 10);
      for (const { sha256, prefix } of keys) {
        assert.ok(stored.delete(sha256.toString('hex')));
        assert.match(prefix, /^sk-\w{4}…$/);
      }
      // Keys of the deleted user and, in new-api, the deleted key.
      assert.equal(stored.size, 2);
    }
  });

  it('list skipped items with the reason', async () => {
    const { leftOut } = await booksOf('new-api', sqlite('new-api-1.0.0-rc.24'));
    assert.deepEqual(
      leftOut.map(({ what, count }) => `${count} ${what}`),
      [
        '1 balance of root, 100000000 units',
        '1 keys that are imported as revoked',
        '1 deleted users, with their keys, 250000 units',
        '1 deleted keys',
        '6 passwords',
        '2 administrators',
        '3 codes that nobody has redeemed, 105000 units',
        '1 active subscriptions',
        '2 channels',
        '1 users of the group vip',
        '1 keys of the group vip',
        '4 prices of models',
      ],
    );
    assert.match(leftOut.find(({ what }) => what === 'users of the group vip')!.why, /0\.8 of the price/);
  });
});

describe('a database of another version', () => {
  const changed = (name: string, script: string): string => {
    const path = sqlite(name);
    changeSqliteBooks(path, (database) => database.exec(script));
    return path;
  };

  it('is refused with its version and the tested ones', async () => {
    const unknown = changed('new-api-1.0.0-rc.24', 'alter table tokens add column billing_type integer');
    await assert.rejects(
      booksOf('new-api', unknown),
      /columns that no known version has \(tokens\.billing_type\).*v1\.0\.0-rc\.24/,
    );
    const lacking = changed('new-api-1.0.0-rc.24', 'alter table users drop column setting');
    await assert.rejects(booksOf('new-api', lacking), /lacks users\.setting/);
    const old = changed('new-api-0.6.3.1.1', 'alter table users drop column oidc_id');
    await assert.rejects(booksOf('new-api', old), /new-api v0\.4\.8\.0 or later, before v0\.5\.2\.3\.1/);
    await assert.rejects(
      booksOf('one-api', changed('one-api-0.6.10', 'drop table tokens')),
      /there is no table tokens/,
    );
  });

  it('is refused if it is of the other program, which is named', async () => {
    await assert.rejects(booksOf('new-api', sqlite('one-api-0.6.10')), /faregate import one-api/);
    await assert.rejects(booksOf('one-api', sqlite('new-api-0.13.2')), /faregate import new-api/);
  });

  it('is read if new-api was started on the tables of one-api, whose limits new-api ignores', async () => {
    const taken = changed(
      'new-api-1.0.0-rc.24',
      `alter table users add column lark_id text; alter table tokens add column models text; alter table tokens add column subnet text;
update tokens set models = 'gpt-4o' where name = 'notebook'`,
    );
    const { leftOut } = await booksOf('new-api', taken);
    assert.equal(leftOut.find(({ what }) => what.startsWith('limits of one-api'))?.count, 1);
  });

  it('is refused if the units per dollar are invalid', async () => {
    const strange = changed('one-api-0.6.10', `insert into options values ('QuotaPerUnit', '5e5')`);
    await assert.rejects(booksOf('one-api', strange), /QuotaPerUnit is "5e5"/);
  });

  it('cannot be opened if it is not a database', async () => {
    await assert.rejects(
      booksOf('one-api', join(directory.path, 'nowhere.db')),
      /nowhere\.db cannot be read: unable to open/,
    );
    await assert.rejects(booksOf('one-api', import.meta.filename), /cannot be read: file is not a database/);
  });
});
