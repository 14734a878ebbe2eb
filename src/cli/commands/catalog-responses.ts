import type { CatalogChangeResponse, CatalogResponse } from '../../api/catalog/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';

export function readCatalog(admin: AdminClient): Promise<CatalogResponse> {
  return admin.request<CatalogResponse>('GET', '/catalog');
}

/** Returns one line for each change; `null`: one of the compared texts is not valid here. */
export function describeChanges(changes: readonly CatalogChangeResponse[] | null): string {
  if (changes === null) return 'The texts cannot be compared, because one of them is not valid on this node.';
  return changes.length === 0 ? 'No setting differs.' : changes.map(({ text }) => text).join('\n');
}
