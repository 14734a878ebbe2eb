import type { NewAccount } from '../../src/accounting/accounts/account-creation-store.ts';
import { createAccountCreations } from '../../src/accounting/accounts/account-creation-store.ts';
import type { createInSteps } from '../../src/app/in-steps.ts';
import type { Database } from '../../src/db/database.ts';
import { finishAll } from '../../src/lib/unfinished.ts';
import { handlesOf } from './spread-database.ts';

/** Creates an account in the first partition, as the admin API does. */
export async function createAccountIn(database: Database, account: NewAccount): Promise<string | null> {
  return createAccountCreations({ all: handlesOf(database).partitions }, async () => 0).create(account);
}

/** Finishes everything that is under way, as a node does in the background. */
export function finishNow({ redemptions }: Pick<ReturnType<typeof createInSteps>, 'redemptions'>): Promise<void> {
  return finishAll([redemptions.unfinished(0)], () => false);
}
