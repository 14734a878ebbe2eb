import type { Unfinished } from '../../lib/unfinished.ts';
import type { Place } from '../partitions/placement.ts';
import type { NewAccount, NewAccountStore, Opening } from './new-account-store.ts';
import type { OpenedBalanceStore } from './opened-balance-store.ts';

interface AccountCreationsParts {
  readonly directory: NewAccountStore;
  readonly partition: OpenedBalanceStore;
  /** Where a new account goes. */
  readonly place: Place;
}

export type AccountCreations = ReturnType<typeof createAccountCreations>;

/**
 * Makes accounts, in three steps (docs/decisions/0061-accounts-and-redemptions-in-steps.md): what is asked for in the directory, where
 * nobody sees it; the balance with its first ledger entry in the partition; the account in the directory.
 */
export function createAccountCreations({ directory, partition, place }: AccountCreationsParts) {
  async function finish(opening: Opening): Promise<void> {
    await partition.open(opening);
    await directory.complete(opening.id);
  }

  return {
    /**
     * Creates an account with its first top-up. Returns its id, that of the first one for the repeat of a request with an idempotency key,
     * `null` if the key was used for another account. What fails between two steps is finished by a repeat with the same key, or in the
     * background.
     */
    async create(account: NewAccount): Promise<string | null> {
      const id = await directory.begin(account, await place());
      const opening = id === null ? null : await directory.find(id);
      if (opening !== null) await finish(opening);
      return id;
    },
    /** Those that are under way for so long. */
    unfinished: (olderThanMs: number): Unfinished => ({
      async list(behindId) {
        const openings = await directory.list(behindId, olderThanMs);
        return openings.map((opening) => ({ id: opening.id, accountId: opening.id, finish: () => finish(opening) }));
      },
    }),
  };
}
