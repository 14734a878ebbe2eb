import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';

/** Deleted keys are absent from the result. */
export function keyNamesOf(
  accounts: Pick<ApiKeyStore, 'findKeyNames'>,
  items: readonly { readonly keyId: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  return accounts.findKeyNames(items.flatMap(({ keyId }) => keyId ?? []));
}
