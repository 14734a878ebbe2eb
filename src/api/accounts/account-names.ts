import type { AccountStore } from '../../accounting/accounts/store.ts';

/** The names of the accounts of items, by their ids, in one question. Items of nobody have none. */
export function accountNamesOf(
  accounts: Pick<AccountStore, 'findNames'>,
  items: readonly { readonly accountId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findNames(items.flatMap(({ accountId }) => accountId ?? []));
}
