import type { CallResponse } from '../../api/calls/wire.ts';
import { type Column, columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';

type Attempt = CallResponse['attempts'][number];

/** Describes one call: who made it, its outcome and charge, and why its attempts failed. */
export function renderCall(call: CallResponse): string {
  const { route, errorCode, requestId, gatewayRequestId, resolution } = call;
  const fields = renderFields([
    ...fieldsOf(call, 'call: id', 'began: startedAt', 'account: accountName'),
    ['key', call.keyName ?? call.keyId],
    ...fieldsOf(call, 'model', 'operation'),
    call.fallback !== null && ['asked for', `${call.fallback.asked} (${call.fallback.reason})`],
    ['route', `${route.provider} · ${route.model}`],
    ...(call.translation === null
      ? []
      : ([
          ['translated to', call.translation.to],
          ['left out', call.translation.leftOut.join(', ') || '-'],
          ['added', call.translation.added.join(', ') || '-'],
        ] as const)),
    ['status', [call.status, call.httpStatus, errorCode].filter((part) => part !== null).join(' ')],
    ...fieldsOf(call, 'took ms: durationMs', 'charged: chargeYuan'),
    call.refundedYuan !== null && call.refundedYuan !== '0' && ['refunded', `¥${call.refundedYuan}`],
    ...fieldsOf(call, 'cost: costYuan'),
    call.heldYuan !== null && ['had reserved', `¥${call.heldYuan}`],
    call.heldTokens !== null && ['had reserved', `${call.heldTokens} tokens`],
    resolution !== null && ['resolved by', resolution.by ?? resolution.via],
    ['request id', gatewayRequestId],
    requestId !== gatewayRequestId && ['of the provider', requestId],
    call.clientRequestId !== null && ['of the client', call.clientRequestId],
  ]);
  return [fields, renderAttempts(call.attempts), whatToDo([call])].filter((text) => text !== '').join('\n\n');
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { title: 'attempt', cell: ({ no }) => String(no) },
  { title: 'route', cell: ({ provider, model }) => `${provider} · ${model}` },
  { title: 'credential', cell: ({ credential }) => credential ?? '-' },
  { title: 'result', cell: ({ failure }) => (failure === null ? 'answered' : RESULTS[failure]) },
  { title: 'status', cell: ({ httpStatus }) => (httpStatus === null ? '-' : String(httpStatus)) },
  ...columnsOf<Attempt>('ms: durationMs'),
  { title: 'lost', cell: ({ isLost, costAtMostYuan }) => (isLost ? `¥${costAtMostYuan ?? '?'} at most` : '') },
  { title: 'words', cell: ({ words }) => words ?? '' },
];

const RESULTS: Readonly<Record<NonNullable<Attempt['failure']>, string>> = {
  connection: 'no connection',
  queue: 'no free connection',
  refused: 'refused',
  account: 'account refused',
  timeout: 'timeout',
  interrupted: 'broken off',
  unusable: 'unusable response',
};

/** A table of the attempts; empty unless one failed. */
export function renderAttempts(attempts: readonly Attempt[]): string {
  return renderTable(attempts, '', ATTEMPT_COLUMNS);
}

/** Tells how to settle calls whose outcome is unknown; empty if there are none. */
export function whatToDo(calls: readonly Pick<CallResponse, 'id' | 'status' | 'context'>[]): string {
  const [open] = calls.filter(({ status }) => status === 'unresolved');
  if (open === undefined) return '';
  const charge = open.context === 'coding' ? '--tokens <count>' : '--charge <yuan>';
  return `The node of an unresolved call died, so its outcome is unknown and nothing is charged. Ask the provider, then settle it once:

  faregate calls resolve ${open.id} ${charge}
  faregate calls resolve ${open.id} --release`;
}
