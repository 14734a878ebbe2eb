import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { RequestBody } from '../protocols/operations/operation.ts';
import { withoutCarriers } from '../protocols/translation/without-carriers.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { withoutDrained } from '../providers/routing/choose.ts';
import type { DrainedRoutes } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { UpstreamRequest } from '../providers/upstream/exchange.ts';
import { upstreamHeaders } from '../providers/upstream/headers.ts';
import type { CallAdmission } from './admission.ts';
import { Call } from './call.ts';
import type { CallRequest } from './call-request.ts';
import { type CallTrace, type OpenAttempt, traceHeaders } from './call-trace.ts';
import { noHealthyRoute, type Preparation } from './preparation.ts';
import {
  CredentialRotation,
  countsDespiteFailure,
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
import { type RelayDependencies, relayStream } from './relay/relay-stream.ts';
import { translatedError } from './relay/translated-error.ts';
import type { Settings } from './settings.ts';
import { isTranslationRefusal, type Translate, type TranslatedInput, translateFor } from './translated-input.ts';

interface CallRunnerDependencies extends RelayDependencies {
  readonly preparation: Preparation;
  readonly admission: CallAdmission;
  readonly settlement: Pick<Settlement, 'canTakeCalls' | 'end'>;
  /** Called after each call, so that the admission queue can admit the account's next call. */
  readonly onEnded: (accountId: string) => void;
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly logger: Logger;
  readonly translate: Translate;
}

export class CallRunner {
  readonly #dependencies: CallRunnerDependencies;

  constructor(dependencies: CallRunnerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Runs a call from preparation to its end. An admitted call ends once: it is settled after its response, or released if it fails.
   * @throws GatewayError if the call is refused or fails before its response has begun
   */
  async run(request: CallRequest): Promise<void> {
    const { preparation, admission, settlement, clock } = this.#dependencies;
    const call = new Call(request, this.#dependencies);
    const preparing = preparation.prepare(call);
    if (preparing !== undefined) await preparing;
    if (!settlement.canTakeCalls) throw new GatewayError('journalUnwritable');
    const { trace } = call.report;
    const admittingAtMs = trace === null ? 0 : clock.nowMs();
    await admission.admit(call);
    if (trace !== null) trace.admission = { startedAtMs: admittingAtMs, endedAtMs: clock.nowMs() };
    try {
      await this.#relayOverRoutes(call);
    } catch (error) {
      const response = await this.#fail(call, error);
      if (!call.client.hasBegun) throw response;
    }
  }

  /** Releases the reservation of a failed call that has not ended yet. Returns the error for the client. */
  async #fail(call: Call, error: unknown): Promise<GatewayError> {
    const { logger } = this.#dependencies;
    const { callId } = call;
    const response =
      call.translation === null ? toResponse(error) : translatedError(toResponse(error), call.policy.operation);
    if (response.status >= 500) logger.warn({ callId, ...failureDetails(call.route, error) }, 'a call failed');
    if (!call.isEnded) {
      await call.release(response, mayHaveRun(error), countsDespiteFailure(error)).catch((failed: unknown) => {
        logger.error({ err: failed, callId }, 'failed to record the end of a failed call');
      });
    }
    return response;
  }

  async #relayOverRoutes(call: Call): Promise<void> {
    const { health, clock, logger } = this.#dependencies;
    const { callId, routes, signerId, client, principal, settings } = call;
    const failures: unknown[] = [];
    let isSkipped = false;
    const open = cooldownLast(this.#undrainedRoutes(call), settings, clock);
    const drainedOfSigner =
      signerId === null ? [] : routes.filter((each) => each.providerId === signerId && !open.includes(each));
    const candidates = drainedOfSigner.length === 0 ? open : [...open, ...drainedOfSigner];
    for (let i = 0; i < candidates.length; i++) {
      const route = candidates[i]!;
      if (i >= open.length && !isSignatureRefusal(failures.at(-1))) break;
      // If the client has left before the provider is called, the call fails, so that nothing is charged.
      if (client.isGone) throw new GatewayError('malformedHttp');
      let translation: TranslatedInput | null = null;
      if (route.translation !== undefined) {
        translation = await this.#translation(call, route);
        // The protocol of the provider cannot express the request.
        if (translation === null) continue;
      }
      const permit = health.enter(route.id, principal.accountId);
      if (permit === null) {
        isSkipped = true;
        continue;
      }
      call.beginAttempt(route, permit, failures.length === 0 ? null : toResponse(failures.at(-1)), translation);
      try {
        await this.#relayWithCredentials(call, i < candidates.length - 1);
        return;
      } catch (error) {
        reportFailure(permit, error);
        failures.push(error);
        if (call.isEnded || client.hasBegun || !mayTryAnother(error)) break;
        logger.info({ callId, ...failureDetails(route, error) }, 'a route did not accept the call');
      } finally {
        permit.ended();
      }
    }
    const failure = decisiveFailure(failures, isSkipped);
    throw failure ?? noHealthyRoute({ routes, accountId: principal.accountId, settings }, health, clock.nowMs());
  }

  /** Returns the request for a route that needs a translation; `null` if its protocol cannot express the request. */
  async #translation(call: Call, route: Route): Promise<TranslatedInput | null> {
    if (call.firstTranslation?.route === route) return call.firstTranslation;
    try {
      return await translateFor(call, route, this.#dependencies.translate);
    } catch (error) {
      if (!isTranslationRefusal(error)) throw error;
      return null;
    }
  }

  /** Omits routes that were drained while the call waited for admission, unless all were. */
  #undrainedRoutes({ model, routes }: Call): readonly Route[] {
    const open = withoutDrained(model, routes, this.#dependencies.drained);
    return open.length > 0 ? open : routes;
  }

  async #relayWithCredentials(call: Call, hasAlternative: boolean): Promise<void> {
    const { clock, logger } = this.#dependencies;
    const { callId, client, settings, report, session, route } = call;
    const { credentials } = settings.providers.get(route.providerId);
    const rotation = new CredentialRotation(credentials, route.providerModel, session?.key ?? null, clock);
    call.rotation = rotation;
    for (;;) {
      try {
        const attempt = { credential: rotation.current, hasAlternative };
        await (report.trace === null ? this.#relay(call, attempt, null) : this.#traced(call, attempt, report.trace));
        rotation.accepted();
        return;
      } catch (error) {
        call.attemptFailed(error);
        if (isOfAccount(error) && error.refusal !== null) {
          const words = error.cause instanceof Error ? error.cause.message : null;
          const { status } = error.refusal;
          const refused = { callId, provider: route.providerId, credential: rotation.currentName, status, words };
          logger.warn(refused, ACCOUNT_REFUSED);
        }
        rotation.next(error, !call.isEnded && !client.hasBegun && !client.isGone);
      }
    }
  }

  /** Records one attempt in the trace. The attempt ends when settlement begins. */
  async #traced(call: Call, attempt: Attempt, trace: CallTrace): Promise<void> {
    const { clock } = this.#dependencies;
    const { providerId: provider, providerModel } = call.route;
    const open = trace.beginAttempt(clock.nowMs());
    const ended = (errorCode: string | null): void => {
      const endedAtMs = trace.settlement?.startedAtMs ?? clock.nowMs();
      trace.endAttempt({ ...open, endedAtMs, provider, providerModel, errorCode });
    };
    try {
      await this.#relay(call, attempt, open);
      ended(null);
    } catch (error) {
      ended(toResponse(error).code);
      throw error;
    }
  }

  #relay(call: Call, { credential, hasAlternative }: Attempt, open: OpenAttempt | null): Promise<void> {
    const upstream = upstreamRequest(call, credential, open);
    return call.input.isStream
      ? relayStream(call, upstream, this.#dependencies, hasAlternative)
      : relayJson(call, upstream, this.#dependencies);
  }
}

/** Moves routes in cooldown to the end, in the order in which their cooldowns end. */
function cooldownLast(routes: readonly Route[], { providers }: Settings, clock: Clock): readonly Route[] {
  if (routes.length === 1) return routes;
  const nowMs = clock.nowMs();
  const cooldownUntilMs = ({ providerId, providerModel }: Route): number =>
    Math.max(providers.get(providerId).credentials.cooldownUntilMs(providerModel, nowMs), nowMs);
  return routes.toSorted((one, other) => cooldownUntilMs(one) - cooldownUntilMs(other));
}

const NO_HEADERS = {};

const ACCOUNT_REFUSED = "a provider does not accept the operator's credential or account";

interface Attempt {
  readonly credential: string;
  readonly hasAlternative: boolean;
}

function upstreamRequest(call: Call, credential: string, open: OpenAttempt | null): UpstreamRequest {
  const { input, principal, settings, report, operation, route, translation } = call;
  const { upstreamPath } = operation;
  const provider = settings.providers.get(route.providerId);
  const mountedNames = settings.config.server.protocolNames[operation.protocol.name];
  // Version and beta headers of a client mean nothing in another protocol.
  const clientHeaders = translation === null ? call.requestHeaders : NO_HEADERS;
  const body = input.toProvider(route.providerModel);
  const trace = provider.passesTraceContext ? { ...traceHeaders(report, open) } : undefined;
  return {
    provider,
    account: principal,
    path: upstreamPath,
    headers: upstreamHeaders(provider, credential, clientHeaders, mountedNames, input, trace),
    body: translation === null && settings.catalog.isTranslated ? withoutCarriersIn(body) : body,
  };
}

/** Reasoning of a translated call means nothing to a provider that speaks the client's protocol. */
function withoutCarriersIn(body: RequestBody): RequestBody {
  return Buffer.isBuffer(body) ? withoutCarriers(body) : body;
}
