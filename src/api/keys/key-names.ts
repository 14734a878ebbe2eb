import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';

/** Returns the names of keys by their ids with one query. Deleted keys are not in the result. */
export function keyNamesOf(
  accounts: Pick<ApiKeyStore, 'findKeyNames'>,
  items: readonly { readonly keyId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findKeyNames(items.flatMap(({ keyId }) => keyId ?? []));
}
