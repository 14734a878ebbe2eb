import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';

/** Looks up key names by id in one query; deleted keys have none. */
export function keyNamesOf(
  accounts: Pick<ApiKeyStore, 'findKeyNames'>,
  items: readonly { readonly keyId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findKeyNames(items.flatMap(({ keyId }) => keyId ?? []));
}
