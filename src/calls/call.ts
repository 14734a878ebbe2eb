import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Operation } from '../protocols/operations/operation.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { withoutDrained } from '../providers/routing/choose.ts';
import type { DrainedRoutes } from '../providers/routing/drains/drain.ts';
import type { RouteHealth, RoutePermit } from '../providers/routing/health.ts';
import { upstreamHeaders } from '../providers/upstream/headers.ts';
import type { Admit } from './admission.ts';
import type { AdmittedCall } from './admitted-call.ts';
import type { CallRequest } from './call-request.ts';
import { type OpenAttempt, traceHeaders } from './call-trace.ts';
import { noHealthyRoute, type PreparedCall } from './prepared-call.ts';
import type { Attempt } from './relay/attempt.ts';
import type { AbortLimits, OnClientAbort } from './relay/client-abort.ts';
import { tryCredentials } from './relay/credential-turns.ts';
import { countsAllTheSame, mayHaveRun, mayTryAnother, reportFailure, reportResult } from './relay/failover.ts';
import { failureDetails } from './relay/failure-details.ts';
import { relayJson } from './relay/relay-json.ts';
import { relayStream } from './relay/relay-stream.ts';
import { type EstimateParts, streamEstimates } from './relay/stream-estimates.ts';
import { toResponse } from './relay/to-response.ts';

interface CallParts extends EstimateParts {
  readonly prepare: (request: CallRequest) => Promise<PreparedCall>;
  readonly admit: Admit;
  readonly settlement: Pick<Settlement, 'canTakeCalls'>;
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly abortLimits: AbortLimits;
}

/**
 * Runs a call from its checked body on, in this order: prepare (model, routes, price, estimate), admit, send and relay
 * while measuring, settle, send the last byte. An admitted call ends once: a relay settles it, or this function releases
 * it (`docs/architecture.md`, "The way of a call").
 *
 * @throws GatewayError if the call is refused or fails before its response has begun.
 */
export function createCallRunner(parts: CallParts): (request: CallRequest) => Promise<void> {
  const { prepare, admit, settlement, health, drained, clock, logger } = parts;

  return async function runCall(request): Promise<void> {
    const prepared = await prepare(request);
    if (!settlement.canTakeCalls) throw new GatewayError('journalUnwritable');
    const { client } = prepared;
    const { trace } = request.report;
    const admittingAtMs = trace === null ? 0 : clock.nowMs();
    const call = await admit(prepared);
    if (trace !== null) trace.admission = { startedAtMs: admittingAtMs, endedAtMs: clock.nowMs() };
    try {
      await relayOverRoutes(call);
    } catch (error) {
      const response = toResponse(error);
      const { callId } = prepared;
      if (response.status >= 500) logger.warn({ callId, ...failureDetails(call.route, error) }, 'a call failed');
      if (!call.isEnded) {
        await call
          .release(response, { mayHaveRun: mayHaveRun(error), counts: countsAllTheSame(error) })
          .catch((failed: unknown) => {
            logger.error({ err: failed, callId }, 'the end of a failed call could not be made durable');
          });
      }
      if (!client.hasBegun) throw response;
    }
  };

  /** Tries the routes in order, until one has taken the call. */
  async function relayOverRoutes(call: AdmittedCall): Promise<void> {
    const { routes, client, input, principal, callId, settings } = call.prepared;
    let failure: unknown = null;
    for (const route of restingLast(stillOpen(routes, call.prepared), call.prepared)) {
      // A client that has left would pay for a response that it cannot read.
      if (client.isGone) throw new GatewayError('malformedHttp');
      const { credentials } = settings.providers.get(route.providerId);
      const permit = health.enter(route.id, principal.accountId);
      if (permit === null) continue;
      call.goesOver(route, failure === null ? null : toResponse(failure));
      try {
        await tryCredentials({
          credentials,
          model: route.providerModel,
          clock,
          async attempt(credential) {
            await traced(call, route, async (open) => {
              const attempt = attemptOver(call, route, permit, credential, open);
              await (input.isStream ? relayStream(attempt, clock) : relayJson(attempt, clock));
            });
          },
          mayRepeat: () => !call.isEnded && !client.hasBegun && !client.isGone,
          onRefused: (name, { refusal, cause }) => {
            const words = cause instanceof Error ? cause.message : null;
            logger.warn(
              { callId, provider: route.providerId, credential: name, status: refusal?.status, words },
              ACCOUNT_REFUSED,
            );
          },
        });
        return;
      } catch (error) {
        reportFailure(permit, error);
        failure = error;
        if (call.isEnded || client.hasBegun || !mayTryAnother(error)) break;
        logger.info({ callId, ...failureDetails(route, error) }, 'a route did not take the call');
      } finally {
        permit.ended();
      }
    }
    throw failure ?? noHealthyRoute({ routes, accountId: principal.accountId, settings }, health, clock.nowMs());
  }

  /** Runs an attempt, and notes it if the call is traced. It ends where the call's end begins to be stored. */
  async function traced(
    { prepared }: AdmittedCall,
    { providerId, providerModel }: Route,
    run: (attempt: OpenAttempt | null) => Promise<void>,
  ): Promise<void> {
    const { trace } = prepared.report;
    if (trace === null) return run(null);
    const open = trace.beginAttempt(clock.nowMs());
    const ended = (errorCode: string | null): void => {
      const endedAtMs = trace.settlement?.startedAtMs ?? clock.nowMs();
      trace.endAttempt({ ...open, endedAtMs, provider: providerId, providerModel, errorCode });
    };
    try {
      await run(open);
      ended(null);
    } catch (error) {
      ended(toResponse(error).code);
      throw error;
    }
  }

  /** The routes that were not drained while the call waited for its admission; all of them, if none is left. */
  function stillOpen(routes: readonly Route[], { model }: PreparedCall): readonly Route[] {
    const open = withoutDrained(model, routes, drained);
    return open.length > 0 ? open : routes;
  }

  /** Routes that rest after a 429 come last, the one that has rested first before the others. */
  function restingLast(routes: readonly Route[], { settings }: PreparedCall): readonly Route[] {
    if (routes.length === 1) return routes;
    const nowMs = clock.nowMs();
    const restsUntilMs = ({ providerId, providerModel }: Route): number =>
      Math.max(settings.providers.get(providerId).credentials.restsUntilMs(providerModel, nowMs), nowMs);
    return routes.toSorted((one, other) => restsUntilMs(one) - restsUntilMs(other));
  }

  function attemptOver(
    admitted: AdmittedCall,
    route: Route,
    permit: RoutePermit,
    credential: string,
    open: OpenAttempt | null,
  ): Attempt {
    const call = admitted.prepared;
    const { input, principal, settings, report } = call;
    const { operation } = call.policy;
    const body = input.toProvider(route.providerModel);
    const provider = settings.providers.get(route.providerId);
    const mountedNames = settings.config.server.protocolNames[operation.protocol.name];
    const trace = provider.passesTraceContext ? { ...traceHeaders(report, open) } : {};
    return {
      call,
      estimates: streamEstimates(parts, call, route.id, body),
      onClientAbort: onClientAbort(operation, call),
      abortLimits: parts.abortLimits,
      upstream: {
        provider,
        account: principal,
        path: operation.upstreamPath,
        headers: upstreamHeaders(provider, credential, call.headers, mountedNames, input, trace),
        body,
      },
      began: () => permit.began(),
      async settle(result, response) {
        reportResult(permit, result);
        const startedAtMs = report.trace === null ? 0 : clock.nowMs();
        if (report.trace !== null) report.trace.settlement = { startedAtMs, endedAtMs: startedAtMs };
        try {
          await admitted.settle(result, response);
        } catch (error) {
          const { callId } = call;
          logger.error({ err: error, callId, chargedTokens: result.usage }, 'a call could not be settled');
          throw new GatewayError('settlementFailed', { cause: error });
        } finally {
          if (report.trace !== null) report.trace.settlement = { startedAtMs, endedAtMs: clock.nowMs() };
        }
      },
    };
  }
}

const ACCOUNT_REFUSED = "a provider does not accept the operator's credential or account";

function onClientAbort({ isAlwaysAwaited }: Operation, { model, settings }: PreparedCall): OnClientAbort {
  if (isAlwaysAwaited) return 'drain';
  return model.onClientAbort ?? settings.config.billing.onClientAbort;
}
