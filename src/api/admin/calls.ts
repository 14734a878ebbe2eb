import { z } from 'zod';
import type { CallsStore } from '../../accounting/ledger/calls-store.ts';
import { type AdminEndpoint, adminEndpoint, notFound } from './endpoint.ts';
import { callToWire, filterText, instant, page, toPage } from './wire.ts';

export interface CallAdminParts {
  readonly calls: CallsStore;
}

const callList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  keyId: filterText.optional(),
  model: filterText.optional(),
  status: z.enum(['succeeded', 'failed', 'aborted', 'unresolved']).optional(),
  from: instant.optional(),
  to: instant.optional(),
});

/** Call records: list and read. */
export function callEndpoints({ calls }: CallAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/calls',
      summary: 'List calls, newest first',
      query: callList,
      async run({ query }) {
        const { limit, cursor, accountId, keyId, model, status, from, to } = query;
        const filter = {
          accountId: accountId ?? null,
          keyId: keyId ?? null,
          model: model ?? null,
          status: status ?? null,
          from: from ?? null,
          to: to ?? null,
        };
        return toPage(await calls.list(filter, cursor ?? null, limit), limit, callToWire, (call) => call.id);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/calls/:id',
      summary: 'Read a call',
      async run({ id: callId }) {
        const call = await calls.find(callId);
        if (call === null) throw notFound('call', callId);
        return callToWire(call);
      },
    }),
  ];
}
