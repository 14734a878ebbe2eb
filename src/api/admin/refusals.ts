import { z } from 'zod';
import type { Refusal } from '../../accounting/refusals/refusal.ts';
import type { RefusalsStore } from '../../accounting/refusals/refusals-store.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { filterText, instant, page, toPage } from './wire.ts';

export interface RefusalAdminParts {
  readonly refusals: Pick<RefusalsStore, 'list' | 'find'>;
}

const refusalList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  code: filterText.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

/** Requests that were refused. */
export function refusalEndpoints({ refusals }: RefusalAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/refusals',
      summary: 'List refused requests, newest first',
      query: refusalList,
      async run({ query }) {
        const { limit, cursor, accountId, code, from, to } = query;
        const filter = { accountId: accountId ?? null, code: code ?? null, from: from ?? null, to: to ?? null };
        return toPage(await refusals.list(filter, cursor ?? null, limit), limit, refusalToWire, ({ id }) => id);
      },
    }),
  ];
}

/** `id` is the request id; of a count, whose `count` is above 1, or which names no request, an id of its own. */
export function refusalToWire({ atMs, ...refusal }: Refusal) {
  return { ...refusal, at: new Date(atMs).toISOString() };
}
