import { z } from 'zod';
import { ownedInScope } from '../keys/keys-of-person.ts';
import { LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { listOf, pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { type RefusalAdminDependencies, refusalList, refusalReader, refusalResponse } from '../refusals/admin.ts';
import { CALL_COLUMNS, type CallAdminDependencies, callList, callReader, readCall } from './admin.ts';
import { ownAttempt, toOwnAttempt } from './attempt-wire.ts';
import { type CallResponse, callResponse, inFlightResponse } from './wire.ts';

type OwnCallDependencies = CallAdminDependencies & RefusalAdminDependencies;

/** Members of a call that accounts see: without routes and costs. */
const ownCallMembers = callResponse.pick({
  id: true,
  accountId: true,
  keyId: true,
  keyName: true,
  context: true,
  operation: true,
  model: true,
  isStream: true,
  status: true,
  httpStatus: true,
  errorCode: true,
  requestId: true,
  gatewayRequestId: true,
  clientRequestId: true,
  clientAddress: true,
  program: true,
  endUser: true,
  tags: true,
  usage: true,
  excessUsage: true,
  doubtedUsage: true,
  pricedBy: true,
  price: true,
  priceFactorBasisPoints: true,
  chargeYuan: true,
  refundedYuan: true,
  heldYuan: true,
  heldTokens: true,
  startedAt: true,
  endedAt: true,
  durationMs: true,
  firstByteMs: true,
  translation: true,
  fallback: true,
});

/** An inner model without its name at the provider, which is only for operators. */
const innerModel = callResponse.shape.innerModels.unwrap().element.pick({
  model: true,
  inputTokens: true,
  outputTokens: true,
  chargeYuan: true,
  usage: true,
  pricedBy: true,
  price: true,
});

/** The decision about an unresolved call as accounts see it: without the memo and the operator. */
const resolution = callResponse.shape.resolution.unwrap().pick({ action: true, tokens: true, at: true });

const refund = callResponse.shape.refunds.unwrap().element.pick({ entryId: true, amountYuan: true, at: true });

const ownCall = ownCallMembers
  .extend({
    attempts: listOf(ownAttempt),
    innerModels: listOf(innerModel),
    refunds: listOf(refund),
    resolution: resolution.nullable(),
  })
  .meta({ id: 'OwnCall' });

const ownInFlight = inFlightResponse
  .pick({
    id: true,
    accountId: true,
    keyId: true,
    keyName: true,
    context: true,
    operation: true,
    model: true,
    isStream: true,
    status: true,
    requestId: true,
    clientAddress: true,
    program: true,
    endUser: true,
    tags: true,
    heldYuan: true,
    heldTokens: true,
    startedAt: true,
    reservedAt: true,
  })
  .meta({ id: 'OwnCallInFlight' });

const ownRefusal = refusalResponse
  .pick({
    id: true,
    at: true,
    count: true,
    accountId: true,
    keyId: true,
    keyName: true,
    clientRequestId: true,
    clientAddress: true,
    method: true,
    path: true,
    operation: true,
    model: true,
    status: true,
    code: true,
    message: true,
    param: true,
  })
  .meta({ id: 'OwnRefusal' });

const OWN_CALL_COLUMNS = CALL_COLUMNS.filter((column) => column.split('.')[0]! in ownCallMembers.shape);

const ownCallPage = z.union([
  pageOf(z.union([ownCall, ownInFlight])),
  z.strictObject({ data: listOf(ownCall), refusals: listOf(ownRefusal), nextCursor: z.null() }),
]);

export function ownCallEndpoints(dependencies: OwnCallDependencies): AccountEndpoint[] {
  const list = callReader(dependencies);
  const listRefusals = refusalReader(dependencies);

  return [
    accountEndpoint({
      method: 'GET',
      path: '/calls',
      summary:
        'List calls, newest first; status=in_flight lists calls in flight, requestId everything about one request; also as CSV',
      needs: 'member',
      query: callList.omit({ accountId: true }),
      response: ownCallPage,
      lines: LIST_LINES,
      async run({ query, wantsCsv }, { scope }) {
        const of = await ownedInScope(dependencies.accounts, scope, query.userId);
        return listOrCsv(wantsCsv, OWN_CALL_COLUMNS, query, async (asked) => showPage(await list(asked, of)));
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/calls/:id',
      resource: 'call',
      summary: 'Read a call',
      needs: 'member',
      response: ownCall,
      run: async ({ id }) => showCall(await readCall(dependencies, id)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/refusals',
      summary: 'List refused requests, newest first; also as CSV',
      needs: 'member',
      query: refusalList.omit({ accountId: true }),
      response: pageOf(ownRefusal),
      lines: LIST_LINES,
      async run({ query, wantsCsv }, { scope }) {
        const of = await ownedInScope(dependencies.accounts, scope, query.userId);
        return listOrCsv(wantsCsv, Object.keys(ownRefusal.shape), query, async (asked) =>
          shownPage(ownRefusal, await listRefusals(asked, of)),
        );
      },
    }),
  ];
}

function showPage(found: Awaited<ReturnType<ReturnType<typeof callReader>>>): z.infer<typeof ownCallPage> {
  if ('refusals' in found) {
    const refusals = found.refusals.map((refusal) => shown(ownRefusal, refusal));
    return { data: found.data.map(showCall), refusals, nextCursor: null };
  }
  const data = found.data.map((call) => ('nodeId' in call ? shown(ownInFlight, call) : showCall(call)));
  return { data, nextCursor: found.nextCursor };
}

function showCall(call: CallResponse): z.infer<typeof ownCall> {
  return {
    ...shown(ownCallMembers, call),
    attempts: call.attempts.map(toOwnAttempt),
    innerModels: call.innerModels.map((inner) => shown(innerModel, inner)),
    refunds: call.refunds.map((each) => shown(refund, each)),
    resolution: call.resolution && shown(resolution, call.resolution),
  };
}
