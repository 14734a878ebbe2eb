import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase } from '../support/database.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { sql } from '../support/sql.ts';
import { exportedFrom, imported } from './books.ts';
import { placesOf } from './spread-books.ts';

describe(`the partition of an account`, { timeout: 120_000 }, () => {
  it('is an existing one, and is not exported', async () => {
    await using source = await createPartitioned(2);
    await using target = await createTestDatabase();
    const { directory } = source.databases;
    await openAccount(directory, 'acct_0', 0n);
    const move = `update accounts set partition_no = $1::smallint where id = 'acct_0'`;
    await assert.rejects(sql(directory, move, [2]), { code: '23503' });
    await sql(directory, move, [1]);
    await directory.script(`delete from balances where account_id = 'acct_0'`);
    await source.databases.partitions[1]!.script(`insert into balances (account_id) values ('acct_0')`);

    await imported(target.database, await exportedFrom(source.databases));
    assert.deepEqual(await placesOf(target.database), { acct_0: 0 });
  });
});
