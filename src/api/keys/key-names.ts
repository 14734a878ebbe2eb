import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';

/** The names of the keys of items, by their ids, in one question. Keys that were forgotten have none. */
export function keyNamesOf(
  accounts: Pick<ApiKeyStore, 'findKeyNames'>,
  items: readonly { readonly keyId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findKeyNames(items.flatMap(({ keyId }) => keyId ?? []));
}
