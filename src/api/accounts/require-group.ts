import { didYouMean } from '../../config/suggest.ts';
import { invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';

/** Checks that the configuration contains a group. @throws GatewayError `invalidRequest` */
export function requireGroup(groupId: string, { groups }: Pick<Catalog, 'groups'>): void {
  const ids = groups.map(({ id }) => id);
  if (ids.includes(groupId)) return;
  const known = ids.length === 0 ? ' No group is configured.' : ` Known: ${ids.join(', ')}.`;
  const hint = didYouMean(groupId, ids) || known;
  throw invalidRequest(`groupId: There is no group "${quoted(groupId)}".${hint}`, 'groupId');
}
