import type { NewAccount } from '../../src/accounting/accounts/new-account-store.ts';
import { createInSteps } from '../../src/app/in-steps.ts';
import type { Lane } from '../../src/db/database.ts';
import { finishAll } from '../../src/lib/unfinished.ts';
import { inOneDatabase, placedInOne } from './in-one-database.ts';

/** Creates an account as the admin API does. */
export async function createAccountIn(database: Lane, account: NewAccount): Promise<string | null> {
  return createInSteps(placedInOne(inOneDatabase(database)), () => []).accountCreations.create(account);
}

/** Finishes everything that is under way, as a node does in the background. */
export function finishNow({
  accountCreations,
}: Pick<ReturnType<typeof createInSteps>, 'accountCreations'>): Promise<void> {
  return finishAll([accountCreations.unfinished(0)], () => false);
}
