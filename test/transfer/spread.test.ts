import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { requireNoLeftovers } from '../../src/accounting/partitions/leftovers-store.ts';
import type { Database } from '../../src/db/database.ts';
import { nestedTransactions } from '../../src/db/databases.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { allRowsOf, exportedFrom, importedInto, startExportOf } from './books.ts';
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

/** Exports and imports of books that are spread over several partitions. */

/** How many accounts are in each partition. */
async function countsOf({ databases }: PartitionedDatabase): Promise<number[]> {
  const counts = databases.partitions.map(() => 0);
  for (const place of Object.values(await placesOf(databases.directory))) counts[place]!++;
  return counts;
}

/** How many partitions an export goes into, and how many accounts each of them gets. */
const TARGETS: readonly (readonly [partitions: number, counts: readonly number[]])[] = [
  [1, [7]],
  [2, [4, 3]],
];

describe(`books in several partitions`, { timeout: 300_000 }, () => {
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

  it('are in an export once, which does not say where accounts are', async () => {
    assert.deepEqual(await countsOf(source), [3, 2, 2]);
    await assertSound(source.databases);
    assert.doesNotMatch(text, /partition/);
    assert.equal(text.match(/^\{"price_lists"/gm)!.length, 1);
    assert.equal(text.match(/^\{"dropped_months"/gm)!.length, 1);
  });

  for (const [partitions, counts] of TARGETS) {
    it(`go into ${partitions} partitions and back, row by row, and are sound`, async () => {
      await using target = await createPartitioned(partitions);
      await using again = await createPartitioned(3);
      const imported = await importedInto(target.databases, text);
      assert.deepEqual([imported.unsound, imported.emptied], [[], []]);
      assert.deepEqual(await allRowsOf(target.databases), rows);
      assert.deepEqual(await countsOf(target), counts);
      await assertSound(target.databases);
      // What was under way is finished, each account in its partition.
      await importedInto(again.databases, await exportedFrom(target.databases));
      assert.deepEqual(await allRowsOf(again.databases), rows);
      for (const { databases } of [target, again]) {
        await assertSound(databases);
      }
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

  it('are consistent in an export during which accounts are made, charged and given vouchers', async () => {
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
      // Of every account now and then, and of two partitions at once.
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
    assert.deepEqual((await importedInto(target.databases, exported)).unsound, []);
    await assertSound(target.databases);
    await assertSound(target.databases);
    await assertSound(databases);
  });

  it('that an interrupted import has left are served to nobody, and removed by the next one', async () => {
    await using target = await createPartitioned(3);
    const { databases } = target;
    const { directory, partitions } = databases;
    const [first, ...further] = partitions as [Database, ...Database[]];
    const endProcess = async () => {
      throw new Error('the process has ended');
    };
    const dying: Pick<Database, 'longTransaction'> = {
      longTransaction: (work) =>
        first.longTransaction(async (transaction) => {
          await work(transaction);
          return endProcess();
        }),
    };
    const count = 'select count(*)::int as n from balances';
    const countAll = () => Promise.all(partitions.map(async (each) => (await sql<{ n: number }>(each, count))[0]!.n));
    const interrupted = importedInto({ longTransaction: nestedTransactions([dying, ...further]) }, text);
    await assert.rejects(interrupted, /the process has ended/);
    assert.deepEqual(await countAll(), [0, 2, 2]);
    assert.deepEqual(await placesOf(directory), {});

    await assert.rejects(requireNoLeftovers(databases), /^LeftoversError: Partition 1 has balances/);
    const found = (await auditLedger(databases)).flatMap(({ breaches }) => breaches.map(({ detail }) => detail));
    for (const number of [1, 2]) assert.ok(found.includes(`partition ${number}: no account`), found.join('\n'));

    assert.deepEqual((await importedInto(databases, text)).emptied, [1, 2]);
    assert.deepEqual(await allRowsOf(databases), rows);
    await assertSound(databases);
    await requireNoLeftovers(databases);
    await assert.rejects(importedInto(databases, text), /^TransferError: This database is not empty/);
    for (const each of partitions) {
      await assert.rejects(sql(each, 'delete from ledger_entries'), /immutable|never/);
    }
  });
});

describe('partitions on several servers', { timeout: 120_000 }, () => {
  it('are each of a state of their own, behind that of the accounts and before that of the vouchers', async () => {
    await using source = await createPartitioned(2);
    await using target = await createPartitioned(2);
    const { databases } = source;
    const { directory, partitions } = databases;
    await spreadBooks(databases);
    const steps = stepsOf(databases);
    await makeVouchers(directory, ['meanwhile', 'between', 'behind'], 'vb_2');
    let opened = 0;
    const readings: (() => Promise<unknown>)[] = [
      // Before the partitions are opened: the first one is of a later state than the accounts.
      async () => {
        await steps.redemptions.redeem(redemptionOf('acct_a', 'meanwhile'));
        await steps.accountCreations.create(newAccount('acct_made'));
      },
      async () => {
        await steps.redemptions.redeem(redemptionOf('acct_b', 'between'));
        await chargeCall(databases, 'acct_a', 'call_between', 3n);
        await chargeCall(databases, 'acct_b', 'call_between', 3n);
      },
    ];
    /** The second partition says that it is on another server. */
    const elsewhere = partitions.map((partition, number) => ({
      ...partition,
      lane: (name: Parameters<Database['lane']>[0]) => ({
        ...partition.lane(name),
        query: async <Row>(...asked: Parameters<Database['query']>): Promise<Row[]> => {
          const found = await partition.lane(name).query<Row>(...asked);
          return number === 1 ? found.map((row) => ({ ...row, server: 'elsewhere' })) : found;
        },
      }),
      openSnapshots: async () => {
        await readings[opened++]?.();
        return partition.openSnapshots();
      },
    }));
    let text = '';
    let isFirst = true;
    for await (const chunk of startExportOf({ directory, partitions: elsewhere })) {
      if (isFirst) await steps.redemptions.redeem(redemptionOf('acct_c', 'behind'));
      isFirst = false;
      text += chunk;
    }
    assert.equal(opened, 2);
    assert.deepEqual((await importedInto(target.databases, text)).unsound, []);
    await assertSound(target.databases);
    // The account was made behind the state of the accounts, and what was redeemed behind it is under way.
    assert.equal(Object.hasOwn(await placesOf(target.databases.directory), 'acct_made'), false);
    await assertSound(target.databases);
    await assertSound(databases);
    const redeemed = `select id from voucher_redemptions where batch_id = 'vb_2' order by id`;
    assert.deepEqual(await sql(target.databases.directory, redeemed), [{ id: 'vr_between' }, { id: 'vr_meanwhile' }]);
  });
});
