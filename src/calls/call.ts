import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Logger } from '../lib/logger.ts';
import type { Soon } from '../lib/soon.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { withoutDrained } from '../providers/routing/choose.ts';
import type { DrainedRoutes } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { UpstreamRequest } from '../providers/upstream/exchange.ts';
import { upstreamHeaders } from '../providers/upstream/headers.ts';
import type { Admit } from './admission.ts';
import type { AdmittedCall } from './admitted-call.ts';
import type { CallRequest } from './call-request.ts';
import { type OpenAttempt, traceHeaders } from './call-trace.ts';
import { noHealthyRoute, type PreparedCall } from './prepared-call.ts';
import {
  CredentialTurns,
  countsAllTheSame,
  decisiveFailure,
  failureDetails,
  isOfAccount,
  isSignatureRefusal,
  mayHaveRun,
  mayTryAnother,
  reportFailure,
  toResponse,
} from './relay/failover.ts';
import { relayJson } from './relay/relay-json.ts';
import { type RelayParts, relayStream } from './relay/relay-stream.ts';

interface CallParts extends RelayParts {
  readonly prepare: (request: CallRequest) => Soon<PreparedCall>;
  readonly admit: Admit;
  readonly settlement: Pick<Settlement, 'canTakeCalls'>;
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly logger: Logger;
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
    const preparing = prepare(request);
    const prepared = preparing instanceof Promise ? await preparing : preparing;
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
        await call.release(response, mayHaveRun(error), countsAllTheSame(error)).catch((failed: unknown) => {
          logger.error({ err: failed, callId }, 'the end of a failed call could not be made durable');
        });
      }
      if (!client.hasBegun) throw response;
    }
  };

  /** Tries the routes in order, until one has taken the call. */
  async function relayOverRoutes(call: AdmittedCall): Promise<void> {
    const { routes, signerId, client, principal, settings } = call.prepared;
    const failures: unknown[] = [];
    let isPassedOver = false;
    const open = restingLast(stillOpen(routes, call.prepared), call.prepared);
    const drainedOfSigner =
      signerId === null ? [] : routes.filter((each) => each.providerId === signerId && !open.includes(each));
    const candidates = [...open, ...drainedOfSigner];
    for (const [i, route] of candidates.entries()) {
      if (i >= open.length && !isSignatureRefusal(failures.at(-1))) break;
      // A client that has left would pay for a response that it cannot read.
      if (client.isGone) throw new GatewayError('malformedHttp');
      const permit = health.enter(route.id, principal.accountId);
      if (permit === null) {
        isPassedOver = true;
        continue;
      }
      call.goesOver(route, permit, failures.length === 0 ? null : toResponse(failures.at(-1)));
      try {
        await relayWithCredentials(call, route, i < candidates.length - 1);
        return;
      } catch (error) {
        reportFailure(permit, error);
        failures.push(error);
        if (call.isEnded || client.hasBegun || !mayTryAnother(error)) break;
        const { callId } = call.prepared;
        logger.info({ callId, ...failureDetails(route, error) }, 'a route did not take the call');
      } finally {
        permit.ended();
      }
    }
    const failure = decisiveFailure(failures, isPassedOver);
    throw failure ?? noHealthyRoute({ routes, accountId: principal.accountId, settings }, health, clock.nowMs());
  }

  /** Sends the call with the credential whose turn it is, and with the next one as long as the provider refuses them. */
  async function relayWithCredentials(call: AdmittedCall, route: Route, hasAlternative: boolean): Promise<void> {
    const { callId, client, settings, report, session } = call.prepared;
    const { credentials } = settings.providers.get(route.providerId);
    const turns = new CredentialTurns(credentials, route.providerModel, session?.key ?? null, clock);
    for (;;) {
      try {
        const attempt = { route, credential: turns.current, hasAlternative };
        await (report.trace === null ? relay(call, attempt, null) : traced(call, attempt));
        turns.accepted();
        return;
      } catch (error) {
        if (isOfAccount(error) && error.refusal !== null) {
          const words = error.cause instanceof Error ? error.cause.message : null;
          const { status } = error.refusal;
          logger.warn(
            { callId, provider: route.providerId, credential: turns.currentName, status, words },
            ACCOUNT_REFUSED,
          );
        }
        turns.next(error, !call.isEnded && !client.hasBegun && !client.isGone);
      }
    }
  }

  /** Runs an attempt of a call that is traced, and notes it. It ends where the call's end begins to be stored. */
  async function traced(call: AdmittedCall, attempt: Attempt): Promise<void> {
    const trace = call.prepared.report.trace!;
    const { providerId: provider, providerModel } = attempt.route;
    const open = trace.beginAttempt(clock.nowMs());
    const ended = (errorCode: string | null): void => {
      const endedAtMs = trace.settlement?.startedAtMs ?? clock.nowMs();
      trace.endAttempt({ ...open, endedAtMs, provider, providerModel, errorCode });
    };
    try {
      await relay(call, attempt, open);
      ended(null);
    } catch (error) {
      ended(toResponse(error).code);
      throw error;
    }
  }

  function relay(call: AdmittedCall, attempt: Attempt, open: OpenAttempt | null): Promise<void> {
    const upstream = upstreamRequest(call.prepared, attempt, open);
    return call.prepared.input.isStream
      ? relayStream(call, upstream, parts, attempt.hasAlternative)
      : relayJson(call, upstream, parts);
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
}

const ACCOUNT_REFUSED = "a provider does not accept the operator's credential or account";

/** One try at a route. */
interface Attempt {
  readonly route: Route;
  readonly credential: string;
  /** Whether another route may take the call if this one refuses it. */
  readonly hasAlternative: boolean;
}

function upstreamRequest(
  { input, principal, settings, report, policy, headers }: PreparedCall,
  { route, credential }: Attempt,
  open: OpenAttempt | null,
): UpstreamRequest {
  const { operation } = policy;
  const provider = settings.providers.get(route.providerId);
  const mountedNames = settings.config.server.protocolNames[operation.protocol.name];
  const trace = provider.passesTraceContext ? { ...traceHeaders(report, open) } : undefined;
  return {
    provider,
    account: principal,
    path: operation.upstreamPath,
    headers: upstreamHeaders(provider, credential, headers, mountedNames, input, trace),
    body: input.toProvider(route.providerModel),
  };
}
