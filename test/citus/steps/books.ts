import assert from 'node:assert/strict';
import { auditLedger } from '../../../src/accounting/audit/audit-store.ts';
import type { Database } from '../../../src/db/database.ts';
import { assertSound } from '../../support/sound.ts';
import { allRowsOf, exportedFrom, imported, startExportOf } from '../../transfer/books.ts';
import { ACCOUNTS, chargeCall, makeVouchers, redemptionOf, spreadBooks, stepsOf } from '../../transfer/spread-books.ts';
import { createCitusDatabase, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

export const books: Step = {
  name: 'books',
  tries:
    'audit, export and import of partitions on workers, while calls go on and vouchers are redeemed, and after an interruption',
  async run({ ports }) {
    await using source = await withPartitions(await createCitusDatabase(ports), 3);
    await using target = await withPartitions(await createCitusDatabase(ports), 2);
    const { databases } = source;
    await spreadBooks(databases);
    await assertSound(databases);
    const rows = await allRowsOf(databases);
    const text = await exportedFrom(databases);

    const { directory, partitions } = target.databases;
    const dying: Database = {
      ...directory,
      longTransaction: (work) =>
        directory.longTransaction(async (transaction) => {
          await work(transaction);
          throw new Error('the process has ended');
        }),
    };
    await assert.rejects(imported(dying, text), /the process has ended/);
    assert.equal((await imported(directory, text)).lateRedemptions, 0);
    assert.deepEqual(await allRowsOf(target.databases), rows);
    await assertSound(target.databases);

    const id = ACCOUNTS[0]!;
    await partitions[1]!.script(`insert into balances (account_id) values ('${id}')`);
    const found = (await auditLedger(target.databases)).flatMap(({ breaches }) => breaches);
    assert.deepEqual(found, [{ accountId: id, detail: 'partition 1: the account is in partition 0' }]);

    await using live = await withPartitions(await createCitusDatabase(ports), 3);
    const steps = stepsOf(databases);
    const names = Array.from({ length: 20 }, (_, n) => `later_${n}`);
    await makeVouchers(databases.directory, names, 'vb_2');
    let exported = '';
    let chunks = 0;
    for await (const chunk of startExportOf(databases)) {
      exported += chunk;
      for (const account of ACCOUNTS) await chargeCall(databases, account, `call_late_${chunks}`, 3n);
      const name = names[chunks++];
      if (name !== undefined) await steps.redemptions.redeem(redemptionOf(ACCOUNTS[chunks % 7]!, name));
    }
    assert.deepEqual((await imported(live.databases.directory, exported)).unsound, []);
    await assertSound(live.databases);
    return [`${chunks} batches of an export during ${chunks * ACCOUNTS.length} calls`];
  },
};
