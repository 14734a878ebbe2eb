import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNewAccountStore } from '../../src/accounting/accounts/new-account-store.ts';
import type { Queryable } from '../../src/db/database.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase } from '../support/database.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { sql } from '../support/sql.ts';
import { exportedFrom, imported } from './books.ts';

async function placesOf(directory: Queryable): Promise<unknown[]> {
  return sql(
    directory,
    `select id, partition_no from accounts union all select id, partition_no from new_accounts order by id`,
  );
}

const insertNew = `insert into new_accounts (id, name, verified, opening_nano, created_at, partition_no) values ($1, 'new', true, 0, now(), 1)`;

describe(`the partition of an account`, { timeout: 120_000 }, () => {
  it('is decided before the account is whole, is one that there is, and is left out of exports', async () => {
    await using source = await createPartitioned(2);
    await using target = await createTestDatabase();
    const { directory } = source.databases;
    await openAccount(directory, 'acct_0', 0n);
    for (const id of ['acct_1', 'acct_2']) await sql(directory, insertNew, [id]);
    await createNewAccountStore(directory).complete('acct_1');
    assert.deepEqual(await placesOf(directory), [
      { id: 'acct_0', partition_no: 0 },
      { id: 'acct_1', partition_no: 1 },
      { id: 'acct_2', partition_no: 1 },
    ]);
    const move = `update accounts set partition_no = $1::smallint where id = 'acct_0'`;
    await assert.rejects(sql(directory, move, [2]), { code: '23503' });
    await sql(directory, move, [1]);
    await directory.script(`delete from balances where account_id = 'acct_0'`);
    await source.databases.partitions[1]!.script(`insert into balances (account_id) values ('acct_0')`);

    await imported(target.database, await exportedFrom(source.databases));
    assert.deepEqual(await placesOf(target.database), [
      { id: 'acct_0', partition_no: 0 },
      { id: 'acct_2', partition_no: 0 },
    ]);
  });
});
