import { createAccountCreations, type NewAccount } from '../../src/accounting/accounts/account-creation-store.ts';
import type { PlacedPools } from '../../src/accounting/partitions/placed-pools.ts';
import type { Place } from '../../src/accounting/partitions/placement.ts';
import { createRedemptionStore, type OfferedPlan } from '../../src/accounting/vouchers/redemption-store.ts';
import type { Database } from '../../src/db/database.ts';
import { handlesOf } from './spread-database.ts';

/** Creates an account in the first partition, as the admin API does. */
export async function createAccountIn(database: Database, account: NewAccount): Promise<string | null> {
  return createAccountCreations({ all: handlesOf(database).partitions }, async () => 0).create(account);
}

/** Creates accounts and redeems vouchers, wired as in a gateway. */
export const createMakers = (
  pools: PlacedPools,
  plans: () => readonly OfferedPlan[] = () => [],
  place: Place = async () => 0,
) => ({
  accountCreations: createAccountCreations(pools.partitions, place),
  redemptions: createRedemptionStore(pools, plans),
});
