import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createChangesStore } from '../../src/changes/changes-store.ts';
import type { DatabasePool } from '../../src/db/database.ts';
import type { DirectoryPool, PartitionPool } from '../../src/db/home-pools.ts';
import { createTestDatabase } from '../support/database.ts';
import { handleOf } from '../support/home-pools.ts';

describe('connections of a home', () => {
  it('are not accepted in place of the other home’s', () => {
    // Only compilation is tested; nothing here runs.
    const stores = (directory: DirectoryPool, partition: PartitionPool, both: DatabasePool) => [
      createChangesStore(directory),
      createChangesStore(both),
      // @ts-expect-error
      createChangesStore(partition),
      createLedgerStore(partition),
      createLedgerStore(both),
      // @ts-expect-error
      createLedgerStore(directory),
    ];
    assert.equal(stores.length, 3);
  });

  it('fail statements about tables of the other home, as all test gateways have them', async () => {
    await using stored = await createTestDatabase();
    const found: unknown[] = [];
    const directory = handleOf('directory', stored.database, (error) => found.push(error));
    const store = createLedgerStore(directory.pool('admin'));
    await assert.rejects(store.listEntries('acct_1', null, 1), /ledger_entries in the directory/);
    assert.equal(found.length, 1);
  });
});
