import assert from 'node:assert/strict';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { PartitionedDatabases } from '../../src/db/home-pools.ts';

/** Asserts all invariants of the ledger. */
export async function assertSound(databases: PartitionedDatabases): Promise<void> {
  const broken = (await auditLedger(databases)).filter(({ breaches }) => breaches.length > 0);
  assert.deepEqual(broken, []);
}
