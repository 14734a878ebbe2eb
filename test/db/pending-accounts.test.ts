import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Databases } from '../../src/db/databases.ts';
import { migrateAll } from '../../src/db/partitions.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createEarlierDatabase } from '../support/earlier-database.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

/** Migrates a database with accounts and partitions that an earlier version was creating in several transactions. */

async function inDatabaseOfSteps(work: (databases: Databases) => Promise<void>): Promise<void> {
  await using earlier = await createEarlierDatabase();
  await work(earlier.databases);
}

describe('a migration to accounts in one transaction', { timeout: 120_000 }, () => {
  it('completes pending accounts with a balance, and deletes the others with their requests', () =>
    inDatabaseOfSteps(async (databases) => {
      const { directory, partitions } = databases;
      const pending = [0, 1].flatMap((number) => [
        { id: `acct_begun_${number}`, number, hasBalance: false },
        { id: `acct_opened_${number}`, number, hasBalance: true },
      ]);
      for (const { id, number, hasBalance } of pending) {
        await directory.script(`insert into account_requests (idempotency_key, request, account_id, created_at)
values ('of ${id}', 'x', '${id}', now());
insert into new_accounts (id, name, email, verified, opening_nano, created_at, partition_no)
values ('${id}', 'n', 'n@example.com', true, 7, '2026-11-20T04:00:00Z', ${number})`);
        if (!hasBalance) continue;
        await partitions[
          number
        ]!.script(`insert into balances (account_id, balance_nano, last_entry_no) values ('${id}', 7, 1);
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
values ('${id}', 1, 'top_up', 7, 7, now())`);
      }
      await migrateAll(databases);
      const accounts = await sql(
        directory,
        'select id, email, verified, status, created_at, partition_no from accounts order by id',
      );
      assert.deepEqual(
        accounts,
        [0, 1].map((number) => ({
          ...{ id: `acct_opened_${number}`, email: 'n@example.com', verified: true, status: 'active' },
          ...{ created_at: new Date('2026-11-20T04:00:00Z'), partition_no: number },
        })),
      );
      await assertSound(databases);
      for (const { id, hasBalance } of pending) {
        const again = { id: `${id}_again`, name: 'n', email: null, verified: true, dailyCapNano: null, at: new Date() };
        const keyed = { idempotencyKey: `of ${id}`, request: 'x' };
        assert.equal(await createAccountIn(directory, { ...again, keyed }), hasBalance ? id : `${id}_again`);
      }
      await assertSound(databases);
    }));

  it('is refused with the number of an incomplete partition', () =>
    inDatabaseOfSteps(async (databases) => {
      const { directory } = databases;
      await directory.script(`insert into partitions (number, schema, state) values (2, 'faregate_02', 'making')`);
      await assert.rejects(migrateAll(databases), /partition 2 was not made to its end; let the version before/);
      await directory.script(`delete from partitions where number = 2`);
      // Its tables exist, but its row does not record that yet.
      await directory.script(`update partitions set state = 'making' where number = 1`);
      await migrateAll(databases);
      await assertSound(databases);
    }));
});
