import { endpointAliases } from '../api/endpoints/aliases.ts';
import type { EndpointParts } from '../api/endpoints/endpoint-handler.ts';
import { registerEndpoints } from '../api/endpoints/register.ts';
import type { endpointTable } from '../api/endpoints/table.ts';
import { createAdmit, createCallLook } from '../calls/admission.ts';
import { createCallRunner } from '../calls/call.ts';
import { createIdempotentCallRunner } from '../calls/idempotency/idempotent-call.ts';
import { createPrepare } from '../calls/prepared-call.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { Config } from '../config/schema.ts';
import { OutputSpeeds } from '../protocols/metering/output-speed.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import type { NodeParts } from './node-parts.ts';

interface ServedEndpointParts
  extends NodeParts,
    Pick<EndpointParts, 'refusals' | 'isRepeat' | 'querySources' | 'spoolDirectory'> {
  readonly table: ReturnType<typeof endpointTable>;
  readonly messagesNames: Config['server']['protocolNames']['messages'];
  readonly randomSource: RandomSource;
  readonly abortLimits: AbortLimits;
}

/** Wires calls, and serves them and the free queries at the public addresses. */
export function serveEndpoints(parts: ServedEndpointParts): void {
  const { table, accounting, settings, health, requestWorkers, bodyBudgets, clock, logger } = parts;
  const { databaseClock, drains, continuationKeys, storedResponses, reservations, settlement } = accounting;
  const queue = parts.admissionQueue;
  const runCall = createCallRunner({
    prepare: createPrepare({ continuationKeys, health, drained: drains, clock, randomSource: parts.randomSource }),
    admit: createAdmit({ reservations, queue, databaseClock, settlement, clock, logger }),
    settlement,
    health,
    drained: drains,
    clock,
    logger,
    abortLimits: parts.abortLimits,
    speeds: new OutputSpeeds(),
    countInput: requestWorkers.count,
    unsentOf: (holder) => bodyBudgets.unsentOf(holder),
  });
  registerEndpoints(parts.app, [...table, ...endpointAliases(table, parts.messagesNames)], {
    refusals: parts.refusals,
    settings: () => settings.current,
    bodyBudgets,
    isRepeat: parts.isRepeat,
    lookAtCall: createCallLook(reservations, databaseClock),
    requestWorkers,
    spoolDirectory: parts.spoolDirectory,
    runCall,
    runIdempotentCall: createIdempotentCallRunner(runCall, storedResponses, bodyBudgets),
    querySources: parts.querySources,
  });
}
