import type { FastifyInstance } from 'fastify';
import { endpointAliases } from '../api/endpoints/aliases.ts';
import { type EndpointParts, registerEndpoints } from '../api/endpoints/register.ts';
import type { endpointTable } from '../api/endpoints/table.ts';
import { createAdmit, createCallLook } from '../calls/admission.ts';
import type { AdmissionQueue } from '../calls/admission-queue.ts';
import { createCallRunner } from '../calls/call.ts';
import { createIdempotentCallRunner } from '../calls/idempotency/idempotent-call.ts';
import { createPrepare } from '../calls/prepared-call.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { OutputSpeeds } from '../protocols/metering/output-speed.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { Accounting } from './accounting.ts';
import type { SettingsInForce } from './settings-in-force.ts';

interface ServedEndpointParts
  extends Pick<EndpointParts, 'refusals' | 'querySources' | 'requestWorkers' | 'bodyBudgets' | 'spoolDirectory'> {
  readonly app: FastifyInstance;
  readonly table: ReturnType<typeof endpointTable>;
  readonly messagesNames: Config['server']['protocolNames']['messages'];
  readonly accounting: Accounting;
  readonly admissionQueue: AdmissionQueue;
  readonly settings: SettingsInForce;
  readonly health: RouteHealth;
  readonly clock: Clock;
  readonly randomSource: RandomSource;
  readonly abortLimits: AbortLimits;
  readonly logger: Logger;
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
  });
  registerEndpoints(parts.app, [...table, ...endpointAliases(table, parts.messagesNames)], {
    refusals: parts.refusals,
    settings: () => settings.current,
    bodyBudgets,
    lookAtCall: createCallLook(reservations, databaseClock),
    requestWorkers,
    spoolDirectory: parts.spoolDirectory,
    runCall,
    runIdempotentCall: createIdempotentCallRunner(runCall, storedResponses, bodyBudgets),
    querySources: parts.querySources,
  });
}
