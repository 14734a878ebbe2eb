import { z } from 'zod';
import type { CallsStore } from '../../accounting/ledger/calls-store.ts';
import type { RefundStore } from '../../accounting/ledger/refund-store.ts';
import type { RefusalsStore } from '../../accounting/refusals/refusals-store.ts';
import type { InFlightStore } from '../../accounting/reservations/in-flight-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import { listOf, pageOf } from '../management/answer-fields.ts';
import { notFound } from '../management/endpoint.ts';
import { callAnswer, callToWire, inFlightAnswer, inFlightToWire } from './call-wire.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { refusalAnswer, refusalToWire } from './refusals.ts';
import { filterText, instant, page, toPage } from './wire.ts';

export interface CallAdminParts {
  readonly calls: CallsStore;
  readonly refunds: Pick<RefundStore, 'refundedOf'>;
  readonly inFlight: InFlightStore;
  readonly refusals: Pick<RefusalsStore, 'find'>;
}

const callList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  keyId: filterText.optional(),
  model: filterText.optional(),
  status: z.enum(['succeeded', 'failed', 'aborted', 'unresolved', 'resolved', 'in_flight']).optional(),
  /** The id of the request: the gateway's, the provider's or the client's. */
  requestId: filterText.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

/** Those in flight have members of their own, and a search for a request finds refusals too. */
const callPage = z.union([
  pageOf(z.union([callAnswer, inFlightAnswer])),
  z.strictObject({ data: listOf(callAnswer), refusals: listOf(refusalAnswer), nextCursor: z.null() }),
]);

/** Call records: list and read. */
export function callEndpoints({ calls, refunds, inFlight, refusals }: CallAdminParts): AdminEndpoint[] {
  /** Calls and refusals alike: whoever complains knows an id, not what became of the request. */
  async function findRequest(requestId: string, limit: number) {
    const [found, refused] = await Promise.all([
      calls.findByRequest(requestId, limit),
      refusals.find(requestId, limit),
    ]);
    const refunded = await refunds.refundedOf(found);
    return {
      data: found.map((call) => callToWire(call, refunded.get(call.id))),
      refusals: refused.map(refusalToWire),
      nextCursor: null,
    };
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/calls',
      summary: 'List calls, newest first; those in flight over all nodes with status=in_flight',
      query: callList,
      answer: callPage,
      async run({ query }) {
        const { limit, cursor, accountId, keyId, model, status, requestId, from, to } = query;
        if (requestId !== undefined) {
          const other = [cursor, accountId, keyId, model, status, from, to].some((given) => given !== undefined);
          if (other)
            throw invalidRequest('requestId: It is searched for alone; leave the other filters out.', 'requestId');
          return findRequest(requestId, limit);
        }
        const filter = {
          accountId: accountId ?? null,
          keyId: keyId ?? null,
          model: model ?? null,
          from: from ?? null,
          to: to ?? null,
        };
        if (status === 'in_flight') {
          const open = await inFlight.list(filter, cursor ?? null, limit);
          return toPage(open, limit, inFlightToWire, (call) => call.id);
        }
        const { items, next } = await calls.list(
          { ...filter, status: status ?? null },
          cursor ?? null,
          limit,
          LIST_TIMING,
        );
        const refunded = await refunds.refundedOf(items);
        return { data: items.map((call) => callToWire(call, refunded.get(call.id))), nextCursor: next };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/calls/:id',
      summary: 'Read a call',
      answer: callAnswer,
      run: ({ id }) => readCall({ calls, refunds }, id),
    }),
  ];
}

/** A call as the admin API shows it, with what was refunded of it. */
export async function readCall({ calls, refunds }: Pick<CallAdminParts, 'calls' | 'refunds'>, id: string) {
  const call = await calls.find(id);
  if (call === null) throw notFound('call', id);
  return callToWire(call, (await refunds.refundedOf([call])).get(id));
}
