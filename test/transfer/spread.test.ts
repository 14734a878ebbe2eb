import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { allRowsOf, exportedFrom, imported, startExportOf } from './books.ts';
import {
  ACCOUNTS,
  chargeCall,
  makeVouchers,
  newAccount,
  placesOf,
  redemptionOf,
  spreadBooks,
  stepsOf,
} from './spread-books.ts';

/** Exports and imports of databases with several partitions. */

/** The number of accounts per partition. */
async function countsOf({ databases }: PartitionedDatabase): Promise<number[]> {
  const counts = databases.partitions.map(() => 0);
  for (const place of Object.values(await placesOf(databases.directory))) counts[place]!++;
  return counts;
}

/** The number of partitions of the target, and the number of accounts each one receives. */
const TARGETS: readonly (readonly [partitions: number, counts: readonly number[]])[] = [
  [1, [7]],
  [2, [4, 3]],
];

describe(`a database with several partitions`, { timeout: 300_000 }, () => {
  let source: PartitionedDatabase;
  let text: string;
  let rows: Record<string, string[]>;
  before(async () => {
    source = await createPartitioned(3);
    await spreadBooks(source.databases);
    rows = await allRowsOf(source.databases);
    text = await exportedFrom(source.databases);
  });
  after(() => source?.remove());

  it('is exported once, without the partitions of accounts', async () => {
    assert.deepEqual(await countsOf(source), [3, 2, 2]);
    await assertSound(source.databases);
    assert.doesNotMatch(text, /partition/);
    assert.equal(text.match(/^\{"price_lists"/gm)!.length, 1);
    assert.equal(text.match(/^\{"dropped_months"/gm)!.length, 1);
  });

  for (const [partitions, counts] of TARGETS) {
    it(`is imported into ${partitions} partitions and back, row by row, and passes the audit`, async () => {
      await using target = await createPartitioned(partitions);
      await using again = await createPartitioned(3);
      const { unsound, lateRedemptions } = await imported(target.databases.directory, text);
      assert.deepEqual([unsound, lateRedemptions], [[], 0]);
      assert.deepEqual(await allRowsOf(target.databases), rows);
      assert.deepEqual(await countsOf(target), counts);
      await assertSound(target.databases);
      await imported(again.databases.directory, await exportedFrom(target.databases));
      assert.deepEqual(await allRowsOf(again.databases), rows);
      await assertSound(again.databases);
      const own = 'select account_id from balances order by account_id';
      const held = await Promise.all(again.databases.partitions.map((each) => sql(each, own)));
      const places = Object.entries(await placesOf(again.databases.directory));
      assert.deepEqual(
        held.map((found) => found.length),
        [3, 2, 2],
      );
      for (const [id, place] of places)
        assert.ok(
          held[place]!.some((row) => Object.values(row).includes(id)),
          id,
        );
    });
  }

  it('is exported consistently while accounts are created, charged and redeem vouchers', async () => {
    await using live = await createPartitioned(2);
    await using target = await createPartitioned(2);
    const { databases } = live;
    await spreadBooks(databases);
    const steps = stepsOf(databases);
    const names = Array.from({ length: 40 }, (_, n) => `later_${n}`);
    await makeVouchers(databases.directory, names, 'vb_2');
    let exported = '';
    let n = 0;
    for await (const chunk of startExportOf(databases)) {
      exported += chunk;
      // Acts on every account from time to time, and on two partitions at once.
      for (const id of [ACCOUNTS[n % ACCOUNTS.length]!, ACCOUNTS[(n + 1) % ACCOUNTS.length]!]) {
        await chargeCall(databases, id, `call_late_${n}`, 3n);
      }
      if (n < names.length) {
        await steps.redemptions.redeem(redemptionOf(ACCOUNTS[n % ACCOUNTS.length]!, names[n]!));
        await steps.accountCreations.create(newAccount(`acct_z${n}`));
      }
      n++;
    }
    assert.ok(n > 5, `only ${n} chunks`);
    const { unsound, lateRedemptions } = await imported(target.databases.directory, exported);
    assert.deepEqual([unsound, lateRedemptions], [[], 0]);
    await assertSound(target.databases);
    await assertSound(databases);
  });

  it('is empty in every partition after an interrupted import', async () => {
    await using target = await createPartitioned(3);
    const { databases } = target;
    const { directory, partitions } = databases;
    const dying: Database = {
      ...directory,
      longTransaction: (work) =>
        directory.longTransaction(async (transaction) => {
          await work(transaction);
          throw new Error('the process has ended');
        }),
    };
    const count = 'select count(*)::int as n from balances';
    const countAll = () => Promise.all(partitions.map(async (each) => (await sql<{ n: number }>(each, count))[0]!.n));
    await assert.rejects(imported(dying, text), /the process has ended/);
    assert.deepEqual(await countAll(), [0, 0, 0]);
    assert.deepEqual(await placesOf(directory), {});
    await imported(directory, text);
    assert.deepEqual(await countAll(), [3, 2, 2]);
    assert.deepEqual(await allRowsOf(databases), rows);
  });

  it('is imported only if no partition has rows', async () => {
    await using target = await createPartitioned(2);
    const { directory, partitions } = target.databases;
    await partitions[1]!.script(`insert into balances (account_id) values ('acct_left')`);
    await assert.rejects(
      imported(directory, text),
      /^TransferError: This database is not empty: balances\. An import requires an empty one/,
    );
  });
});

describe('vouchers read after the snapshots of partitions, as on Citus', { timeout: 120_000 }, () => {
  it('are available after the import if they gave their accounts nothing, and redeemed otherwise', async () => {
    await using source = await createPartitioned(2);
    await using target = await createPartitioned(2);
    const { databases } = source;
    const { directory } = databases;
    await spreadBooks(databases);
    const steps = stepsOf(databases);
    await makeVouchers(directory, ['before', 'later'], 'vb_2');
    await steps.redemptions.redeem(redemptionOf('acct_a', 'before'));
    // Vouchers of plans had no idempotency key before.
    await directory.script(`insert into vouchers (code_hash, batch_id, code_end) values ('\\x02', 'vb_2', 'CODE');
insert into voucher_redemptions (code_hash, id, batch_id, code_end, account_id, redeemed_at, redeemed_by, subscription_id)
values ('\\x02', 'vr_old', 'vb_2', 'CODE', 'acct_b', '2026-01-01', 'x', 'sub_acct_b')`);
    let opened = 0;
    const onCitus: Database = {
      ...directory,
      async openSnapshots() {
        if (opened++ === 1) await steps.redemptions.redeem(redemptionOf('acct_b', 'later'));
        const reader = await directory.openSnapshots();
        return {
          ...reader,
          query: async <Row>(...asked: Parameters<typeof reader.query>): Promise<Row[]> =>
            asked[0].name === 'citus.find-extension' ? [{ is_there: true } as Row] : reader.query<Row>(...asked),
        };
      },
    };
    const text = await exportedFrom({ ...databases, directory: onCitus });
    assert.equal(opened, 2);
    const { unsound, lateRedemptions } = await imported(target.databases.directory, text);
    assert.deepEqual([unsound, lateRedemptions], [[], 1]);
    const redeemed = `select id from voucher_redemptions where batch_id = 'vb_2' order by id`;
    assert.deepEqual(await sql(target.databases.directory, redeemed), [{ id: 'vr_before' }, { id: 'vr_old' }]);
    await stepsOf(target.databases).redemptions.redeem(redemptionOf('acct_c', 'later'));
    assert.equal((await sql(target.databases.directory, redeemed)).length, 3);
  });
});
