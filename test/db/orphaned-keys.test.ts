import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { migrateAll } from '../../src/db/partitions.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createEarlierDatabase } from '../support/earlier-database.ts';
import { sql } from '../support/sql.ts';

/** Keys that earlier versions were creating, or had deleted, when they stopped. */

describe('orphaned keys of earlier versions', { timeout: 60_000 }, () => {
  it('are deleted with their limits, rates and uses in each partition; existing keys keep theirs', async () => {
    await using earlier = await createEarlierDatabase();
    const { databases } = earlier;
    const { directory, partitions } = databases;
    for (const [number, partition] of partitions.entries()) {
      const accountId = `acct_${number}`;
      await partition.transactionWithDirectory((transaction) => openAccount(transaction, accountId, 5n));
      await sql(directory, 'update accounts set partition_no = $2::smallint where id = $1', [accountId, number]);
      await directory.script(`
insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
values ('${accountId}', 'key_works_${number}', 'k', '${accountId}', 'p', now());
insert into loose_keys (account_id, key_id, is_begun, replaced_id, since) values
('${accountId}', 'key_begun_${number}', true, 'key_works_${number}', now()),
('${accountId}', 'key_forgotten_${number}', false, null, now() - interval '1 day')`);
      const keyIds = ['works', 'begun', 'forgotten'].map((name) => `key_${name}_${number}`);
      for (const keyId of keyIds) {
        await partition.script(`
insert into key_limits (account_id, key_id, daily_calls_max) values ('${accountId}', '${keyId}', 5);
insert into rate_limits (account_id, key_id, model, requests_max) values ('${accountId}', '${keyId}', '', 5);
insert into key_uses (account_id, key_id, last_used_at) values ('${accountId}', '${keyId}', now())`);
      }
      await partition.script(`insert into rate_limits (account_id, key_id, model, requests_max)
values ('${accountId}', '', '', 5)`);
    }
    await migrateAll(databases);
    for (const [number, partition] of partitions.entries()) {
      for (const table of ['key_limits', 'rate_limits', 'key_uses']) {
        const left = await sql<object>(partition, `select key_id from ${table} where key_id <> ''`);
        assert.deepEqual(left, [{ key_id: `key_works_${number}` }], table);
      }
      assert.equal((await sql(partition, `select from rate_limits where key_id = ''`)).length, 1);
    }
    assert.deepEqual(await sql(directory, `select to_regclass('loose_keys') as name`), [{ name: null }]);
    for (const { invariant, breaches } of await auditLedger(databases)) assert.deepEqual(breaches, [], invariant);
  });
});
