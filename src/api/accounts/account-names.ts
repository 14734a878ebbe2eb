import type { AccountStore } from '../../accounting/accounts/store.ts';

export function accountNamesOf(
  accounts: Pick<AccountStore, 'findNames'>,
  items: readonly { readonly accountId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findNames(items.flatMap(({ accountId }) => accountId ?? []));
}
