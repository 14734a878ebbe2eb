import { z } from 'zod';
import type { RecordedCaller } from '../../accounting/accounts/recording.ts';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import {
  type CallRecord,
  type CallsStore,
  MINUTE_CALLS_MAX,
  type OwnedBy,
} from '../../accounting/calls/calls-store.ts';
import { createRecentMinutes } from '../../accounting/calls/recent-minutes.ts';
import type { RefundStore } from '../../accounting/corrections/refund-store.ts';
import type { InFlightStore } from '../../accounting/reservations/in-flight-store.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import type { RefusalsStore } from '../../requests/refusals-store.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { keyNamesOf } from '../keys/key-names.ts';
import { ownedByPerson } from '../keys/keys-of-person.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { notFound } from '../management/endpoint.ts';
import { LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { at, count, listOf, pageOf } from '../management/response-fields.ts';
import { filterText, instant, page, toPage } from '../management/wire.ts';
import { refusalResponse, showRefusals } from '../refusals/admin.ts';
import { callResponse, callToWire, inFlightResponse, inFlightToWire } from './wire.ts';

export interface CallAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findNames' | 'findKey' | 'findKeyNames' | 'findOwnKeyIds'>;
  readonly calls: CallsStore;
  readonly refunds: Pick<RefundStore, 'refundsOf'>;
  readonly inFlight: InFlightStore;
  readonly refusals: Pick<RefusalsStore, 'find'>;
  readonly clock: Clock;
}

export const callList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  keyId: filterText.optional(),
  userId: filterText.optional(),
  model: filterText.optional(),
  status: z.enum(['succeeded', 'failed', 'aborted', 'unresolved', 'resolved', 'in_flight']).optional(),
  clientAddress: filterText.optional(),
  program: filterText.optional(),
  endUser: filterText.optional(),
  tag: filterText.optional(),
  /** A request id of the gateway, the provider or the client. */
  requestId: filterText.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

const foundRequest = z.strictObject({
  data: listOf(callResponse),
  refusals: listOf(refusalResponse),
  nextCursor: z.null(),
});
export type FoundRequest = z.infer<typeof foundRequest>;

const minutesResponse = z.strictObject({
  data: listOf(
    z.strictObject({
      minute: at,
      calls: count.describe(`Calls that started in this minute and have ended, at most ${MINUTE_CALLS_MAX}.`),
    }),
  ),
});

const callPage = z.union([pageOf(z.union([callResponse, inFlightResponse])), foundRequest]);

export const CALL_COLUMNS = [
  ...[
    'startedAt',
    'endedAt',
    'id',
    'status',
    'accountId',
    'accountName',
    'keyId',
    'keyName',
    'context',
    'operation',
    'model',
  ],
  ...['route.provider', 'route.model', 'isStream', 'httpStatus', 'errorCode', 'requestId', 'clientRequestId'],
  ...['clientAddress', 'program', 'endUser', 'tags'],
  ...Object.keys(callResponse.shape.usage.unwrap().shape).map((name) => `usage.${name}`),
  ...['chargeYuan', 'refundedYuan', 'costYuan', 'heldYuan', 'heldTokens', 'durationMs', 'firstByteMs'],
];

type CallQuery = Partial<z.infer<typeof callList>> & { readonly limit: number };

/** Reads calls. Whatever a query asks for, its result contains only calls of the given owner (`of`). */
export function callReader(dependencies: CallAdminDependencies) {
  const { accounts, calls, inFlight, refusals } = dependencies;

  /** Finds calls and refusals: a client cannot know whether its request became a call. */
  async function findRequest(requestId: string, limit: number, of: OwnedBy): Promise<FoundRequest> {
    const [found, refused] = await Promise.all([
      calls.findByRequest(requestId, limit, of),
      refusals.find(requestId, limit, of),
    ]);
    return {
      data: await showCalls(dependencies, found),
      refusals: await showRefusals(dependencies, refused),
      nextCursor: null,
    };
  }

  async function accountOfKey(keyId: string | undefined): Promise<string | null> {
    const key = keyId === undefined ? null : await accounts.findKey(keyId);
    return key === null ? null : key.accountId;
  }

  return async (query: CallQuery, of: OwnedBy) => {
    const { limit, cursor, accountId, keyId, model, status, requestId, from, to } = query;
    if (requestId !== undefined) {
      const { requestId: _, limit: __, ...others } = query;
      const other = Object.values(others).some((given) => given !== undefined);
      if (other)
        throw invalidRequest('requestId: A search by request cannot be combined with other filters.', 'requestId');
      return findRequest(requestId, limit, of);
    }
    if (of.keyIds?.length === 0) return { data: [], nextCursor: null };
    const filter = {
      accountId: of.accountId ?? accountId ?? (await accountOfKey(keyId)),
      keyId: keyId ?? null,
      ownKeyIds: of.keyIds,
      model: model ?? null,
      caller: callerFilter(query),
      from: from ?? null,
      to: to ?? null,
    };
    if (status === 'in_flight') {
      const open = await inFlight.list(filter, cursor ?? null, limit);
      return toPage(open.map(inFlightToWire), limit, (call) => call.id);
    }
    const { items, next } = await calls.list({ ...filter, status: status ?? null }, cursor ?? null, limit, LIST_TIMING);
    return { data: await showCalls(dependencies, items), nextCursor: next };
  };
}

function callerFilter({ clientAddress, program, endUser, tag }: CallQuery): RecordedCaller | null {
  const wanted = {
    ...(clientAddress !== undefined && { clientAddress }),
    ...(program !== undefined && { program }),
    ...(endUser !== undefined && { endUser }),
    ...(tag !== undefined && { tags: [tag] }),
  };
  return Object.keys(wanted).length === 0 ? null : wanted;
}

export function callEndpoints(dependencies: CallAdminDependencies): AdminEndpoint[] {
  const { accounts } = dependencies;
  const list = callReader(dependencies);
  const minutes = createRecentMinutes(dependencies);

  return [
    adminEndpoint({
      method: 'GET',
      path: '/calls',
      summary: 'List calls, newest first; status=in_flight lists calls in flight on all nodes; also as CSV',
      query: callList,
      response: callPage,
      lines: LIST_LINES,
      async run({ query, wantsCsv }) {
        const of = await ownedByPerson(accounts, query);
        return listOrCsv(wantsCsv, CALL_COLUMNS, query, (asked) => list(asked, of));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/calls/minutes',
      summary: 'Count the calls of the last hour by the minute in which they started',
      response: minutesResponse,
      async run() {
        const counted = await minutes();
        return { data: counted.map(({ minuteMs, calls }) => ({ minute: new Date(minuteMs).toISOString(), calls })) };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/calls/:id',
      summary: 'Read a call',
      response: callResponse,
      run: ({ id }) => readCall(dependencies, id),
    }),
  ];
}

type ShownWith = Pick<CallAdminDependencies, 'accounts' | 'refunds'>;

async function showCalls({ accounts, refunds }: ShownWith, calls: readonly CallRecord[]) {
  const [names, keyNames, refundsOf] = await Promise.all([
    accountNamesOf(accounts, calls),
    keyNamesOf(accounts, calls),
    refunds.refundsOf(calls),
  ]);
  return calls.map((call) =>
    callToWire(call, {
      // Accounts are never deleted, so the name is always found.
      accountName: names.get(call.accountId) ?? call.accountId,
      keyName: keyNames.get(call.keyId) ?? null,
      refunds: refundsOf.get(call.id),
    }),
  );
}

/** Returns the error for an unknown call. It tells whether records of that time were deleted, whoever the owner of the call is. */
export async function noCall({ calls }: Pick<CallAdminDependencies, 'calls'>, id: string): Promise<GatewayError> {
  if (!(await calls.isDropped(id))) return notFound('call', id);
  return new GatewayError('pathUnknown', {
    message: `There is no record of call ${id.slice(0, 100)}: records of calls of that time are no longer kept.`,
  });
}

export async function readCall(dependencies: ShownWith & Pick<CallAdminDependencies, 'calls'>, id: string) {
  const call = await dependencies.calls.find(id);
  if (call === null) throw await noCall(dependencies, id);
  const [shown] = await showCalls(dependencies, [call]);
  return shown!;
}
