import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';

/** Returns names of keys by id. Deleted keys are absent. */
export function keyNamesOf(
  accounts: Pick<ApiKeyStore, 'findKeyNames'>,
  items: readonly { readonly keyId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findKeyNames(items.flatMap(({ keyId }) => keyId ?? []));
}
