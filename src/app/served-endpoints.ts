import { endpointAliases } from '../api/endpoints/aliases.ts';
import { type EndpointParts, registerEndpoints } from '../api/endpoints/register.ts';
import type { endpointTable } from '../api/endpoints/table.ts';
import { CallAdmission } from '../calls/admission.ts';
import { CallRunner } from '../calls/call-runner.ts';
import { Preparation } from '../calls/preparation.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { Config } from '../config/schema.ts';
import { OutputSpeeds } from '../protocols/metering/output-speed.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import type { NodeParts } from './node-parts.ts';

interface ServedEndpointParts
  extends NodeParts,
    Pick<EndpointParts, 'refusals' | 'idempotentCalls' | 'querySources' | 'spoolDirectory'> {
  readonly table: ReturnType<typeof endpointTable>;
  readonly messagesNames: Config['server']['protocolNames']['messages'];
  readonly randomSource: RandomSource;
  readonly abortLimits: AbortLimits;
}

/** Wires calls, and serves them and the free queries at the public addresses. */
export function serveEndpoints(parts: ServedEndpointParts): void {
  const { table, accounting, settings, health, requestWorkers, bodyBudgets, clock, logger } = parts;
  const { databaseClock, drains, continuationKeys, reservations, settlement } = accounting;
  const queue = parts.admissionQueue;
  const admission = new CallAdmission({ reservations, queue, databaseClock });
  const { randomSource } = parts;
  const calls = new CallRunner({
    preparation: new Preparation({ continuationKeys, health, drained: drains, clock, randomSource }),
    admission,
    settlement,
    onEnded: (accountId) => queue.ended(accountId),
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
    admission,
    requestWorkers,
    spoolDirectory: parts.spoolDirectory,
    calls,
    idempotentCalls: parts.idempotentCalls,
    querySources: parts.querySources,
  });
}
