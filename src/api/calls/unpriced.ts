import { z } from 'zod';
import type { UnpricedUse } from '../../requests/unpriced-uses.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { at, count, listOf } from '../management/response-fields.ts';

interface UnpricedAdminDependencies {
  readonly unpricedUses: () => readonly UnpricedUse[];
}

const unpricedUse = z.strictObject({ model: z.string(), price: z.string(), calls: count, lastAt: at });

export function unpricedEndpoints({ unpricedUses }: UnpricedAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/unpriced',
      summary: 'List usage without a price, as seen by this node since its start',
      response: z.strictObject({ data: listOf(unpricedUse) }),
      async run() {
        return {
          data: unpricedUses().map(({ lastAtMs, ...use }) => ({ ...use, lastAt: new Date(lastAtMs).toISOString() })),
        };
      },
    }),
  ];
}
