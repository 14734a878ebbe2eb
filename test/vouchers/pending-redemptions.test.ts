import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import type { Databases } from '../../src/db/databases.ts';
import { migrateAll } from '../../src/db/partitions.ts';
import { createEarlierDatabase, type EarlierDatabase } from '../support/earlier-database.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

/** A database of schema 55 may have redemptions that were pending when its gateways stopped. */

const keyOf = (name: string): string => `voucher ${hashOf(name).toString('hex')}`;
const hashOf = (name: string): Buffer => Buffer.from(name.padEnd(32, '.'));

describe('the migration of pending redemptions', { timeout: 120_000 }, () => {
  let earlier: EarlierDatabase;
  let databases: Databases;
  before(async () => {
    earlier = await createEarlierDatabase();
    ({ databases } = earlier);
  });
  after(() => earlier?.[Symbol.asyncDispose]());

  async function makeAccount(id: string, place: number): Promise<void> {
    await databases.directory.script(`insert into accounts (id, name, verified, status, created_at, updated_at, partition_no)
values ('${id}', 'n', true, 'active', now(), now(), ${place})`);
    await databases.partitions[place]!.script(`insert into balances (account_id) values ('${id}')`);
  }

  async function begin(name: string, accountId: string, subscriptionId: string | null): Promise<void> {
    const batchId = subscriptionId === null ? 'vb_value' : 'vb_plan';
    const voucher = 'insert into vouchers (code_hash, batch_id, code_end) values ($1, $2, $3)';
    await sql(databases.directory, voucher, [hashOf(name), batchId, 'CODE']);
    const redemption = `insert into voucher_redemptions
  (code_hash, id, batch_id, code_end, account_id, redeemed_at, redeemed_by, subscription_id, under_way_since)
values ($1, $2, $3, 'CODE', $4, now(), 'x', $5, now())`;
    await sql(databases.directory, redemption, [hashOf(name), `vr_${name}`, batchId, accountId, subscriptionId]);
  }

  /** The gifts of a value voucher and of a plan voucher that renews a subscription. */
  async function give(partition: Database, accountId: string, [value, plan]: readonly [string, string]): Promise<void> {
    const entry = `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, idempotency_key, created_at)
values ($1, 1, 'top_up', 5, 5, $2, now())`;
    await sql(partition, entry, [accountId, keyOf(value)]);
    await partition.script(`update balances set balance_nano = 5, last_entry_no = 1 where account_id = '${accountId}';
insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at)
values ('${accountId}', 'sub_of_${accountId}', 'coder', now(), now() + interval '30 days', now())`);
    const request = `insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
values ($1, $2, 'r', $3, now())`;
    await sql(partition, request, [accountId, keyOf(plan), `sub_of_${accountId}`]);
  }

  it('completes those whose gift exists, in their partitions, and deletes the others', async () => {
    const { directory, partitions } = databases;
    await directory.script(`insert into voucher_batches (id, name, amount_nano, plan_id, voucher_count, created_at, created_by)
values ('vb_value', 'b', 5, null, 4, now(), 'x'), ('vb_plan', 'b', null, 'coder', 4, now(), 'x')`);
    for (const place of [0, 1]) {
      const id = `acct_${place}`;
      await makeAccount(id, place);
      for (const name of ['given', 'not-given']) await begin(`${name}-${place}`, id, null);
      for (const name of ['granted', 'not-granted']) await begin(`${name}-${place}`, id, `sub_new_${name}_${place}`);
      await give(partitions[place]!, id, [`given-${place}`, `granted-${place}`]);
      await sql(
        partitions[place]!,
        `insert into refused_redemptions (account_id, redemption_id, refusal) values ($1, 'vr', 'r')`,
        [id],
      );
    }
    await migrateAll(databases);
    assert.deepEqual(
      await sql(
        directory,
        'select id, account_id, entry_no::int, subscription_id from voucher_redemptions order by id',
      ),
      [0, 1]
        .flatMap((place) => [
          { id: `vr_given-${place}`, account_id: `acct_${place}`, entry_no: 1, subscription_id: null },
          {
            id: `vr_granted-${place}`,
            account_id: `acct_${place}`,
            entry_no: null,
            subscription_id: `sub_of_acct_${place}`,
          },
        ])
        .sort((left, right) => (left.id < right.id ? -1 : 1)),
    );
    await assertSound(databases);
  });
});
