import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type NewDatabase, readNewDatabase } from '../support/emptied-database.ts';
import { startGateway } from '../support/gateway.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { assertSound } from '../support/sound.ts';

/** Test databases that are returned and reused: each must be equal to a new one. */

const sorted = ({ tables, rows }: NewDatabase) => [tables, [...rows].sort()];
const contentOf = async ({ database }: TestDatabase) => sorted(await readNewDatabase(database));

/** The database's name on its server. */
async function identityOf(database: Database): Promise<string> {
  const [row] = await database.query<{ name: string }>({
    name: 'test.identity',
    text: 'select current_database()::text as name',
  });
  return row!.name;
}

async function borrow<Result>(work: (stored: TestDatabase) => Promise<Result>): Promise<Result> {
  await using stored = await createTestDatabase();
  return await work(stored);
}

describe(`the databases of tests`, { timeout: 60_000 }, () => {
  it('are equal to new ones after a gateway has used them, without being created again', async () => {
    const asNew = await borrow(contentOf);
    let served = '';
    const gateway = await startGateway();
    try {
      served = await identityOf(gateway.database);
      const account = await gateway.createAccount();
      assert.equal((await gateway.admin('GET', `/accounts/${account.id}`)).body.balanceYuan, '100');
    } finally {
      await gateway.stop();
    }
    await borrow(async (stored) => {
      assert.ok(stored.database.figures().every(({ begun }) => begun === 0));
      assert.equal(await identityOf(stored.database), served);
      assert.deepEqual(await contentOf(stored), asNew);
      await assertSound(inOneDatabase(stored.database));
    });
  });

  it('are not reused if more than rows was changed', async () => {
    for (const change of [
      'create table left_over (n int)',
      "set timezone to 'Asia/Tokyo'",
      'select pg_advisory_lock(1)',
    ]) {
      const before = await borrow(async ({ database }) => {
        await database.query({ name: `test.${change}`.slice(0, 60).replaceAll("'", ''), text: change });
        return identityOf(database);
      });
      assert.notEqual(await borrow(({ database }) => identityOf(database)), before, change);
    }
  });

  it('are not reused if their address was passed on', async () => {
    const before = await borrow(async ({ database, url }) => {
      assert.notEqual(url, '');
      return identityOf(database);
    });
    assert.notEqual(await borrow(({ database }) => identityOf(database)), before);
  });

  it('are closed for a test that has returned them', async () => {
    const { database, remove } = await createTestDatabase();
    await database.query({ name: 'test.one', text: 'select 1 as one' });
    await remove();
    await assert.rejects(database.query({ name: 'test.one', text: 'select 1 as one' }), /database is closed/);
    await borrow(async (stored) => {
      // The same statement name has another text in another test.
      assert.deepEqual(await stored.database.query({ name: 'test.one', text: 'select 2 as two' }), [{ two: 2 }]);
    });
  });
});
