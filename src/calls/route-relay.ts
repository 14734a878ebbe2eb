import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { RetryTerms } from '../providers/catalog/attempt-terms.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { CountedCall } from '../providers/limits/limited-use.ts';
import type { RouteLimits } from '../providers/limits/provider-limits.ts';
import { withoutDrained } from '../providers/routing/choose.ts';
import type { DrainedRoutes } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { Call } from './call.ts';
import type { CallTrace, OpenAttempt } from './call-trace.ts';
import { noHealthyRoute } from './chosen-routes.ts';
import { credentialLimits, endCounted, routesUsedUp } from './relay/call-limits.ts';
import {
  CredentialRotation,
  decisiveFailure,
  failureDetails,
  isOfAccount,
  reportFailure,
  toResponse,
} from './relay/failover.ts';
import { RouteQueue } from './relay/further-attempts.ts';
import { relayJson } from './relay/relay-json.ts';
import { type RelayDependencies, relayStream } from './relay/relay-stream.ts';
import { type Attempt, upstreamRequest } from './relay/upstream-request.ts';
import { hasParameters, type Rewriter, type RewrittenInput } from './rewritten-input.ts';
import type { Settings } from './settings.ts';
import { isCovered } from './translated-estimate.ts';
import { isTranslationRefusal, type TranslatedInput, type Translator } from './translated-input.ts';

export interface RouteRelayDependencies extends RelayDependencies {
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly logger: Logger;
  readonly translator: Translator;
  readonly rewriter: Rewriter;
}

/** Relays an admitted call over the routes of its model. */
export class RouteRelay {
  readonly #dependencies: RouteRelayDependencies;

  constructor(dependencies: RouteRelayDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Tries the routes of the call in turn, until one serves it or its failure allows no other attempt.
   * @throws the decisive failure, or GatewayError if no route could be tried
   */
  async relay(call: Call): Promise<void> {
    const { health, clock, logger } = this.#dependencies;
    const { callId, routes, signerId, client, principal, settings } = call;
    const failures: unknown[] = [];
    let isSkipped = false;
    let freeAtMs: number | null = null;
    const open = cooldownLast(this.#undrainedRoutes(call), settings, clock);
    const drainedOfSigner =
      signerId === null ? [] : routes.filter((each) => each.providerId === signerId && !open.includes(each));
    const queue = new RouteQueue(open, drainedOfSigner, retryTermsOf(call));
    for (let route = queue.next(null); route !== null; route = queue.next(failures.at(-1))) {
      // If the client has left before the provider is called, the call fails, so that nothing is charged.
      if (client.isGone) throw new GatewayError('malformedHttp');
      const limits = settings.limits === null ? null : settings.limits.ofRoute(route.id);
      let translation: TranslatedInput | null = null;
      if (route.translation !== undefined) {
        translation = await this.#translation(call, route);
        // The protocol of the provider cannot express the request.
        if (translation === null) continue;
      }
      const isRewritten = route.parameters !== undefined && hasParameters(route, call.clientInput);
      const rewriting = isRewritten ? await this.#rewriting(call, route) : null;
      const usedUpUntilMs =
        limits === null
          ? null
          : limits.usedUpUntilMs(settings.providers.get(route.providerId).credentials, clock.nowMs());
      if (usedUpUntilMs !== null) freeAtMs = Math.min(freeAtMs ?? usedUpUntilMs, usedUpUntilMs);
      const permit = usedUpUntilMs === null ? health.enter(route.id, principal.accountId) : null;
      if (permit === null) {
        if (translation !== call.firstTranslation) translation?.release();
        if (rewriting !== call.firstRewriting) rewriting?.release();
        isSkipped = true;
        continue;
      }
      const failure = call.lastFailure === null ? null : toResponse(call.lastFailure);
      call.beginAttempt(route, permit, failure, translation, rewriting);
      const counted = limits === null ? null : limits.begin(call.input.inputTokensEstimate, clock.nowMs());
      try {
        await this.#relayWithCredentials(call, queue, limits, counted ?? NOT_COUNTED);
        return;
      } catch (error) {
        reportFailure(permit, error);
        failures.push(error);
        call.lastFailure = error;
        if (call.isEnded || client.isCommitted) break;
        const next = queue.after(route, error);
        if (next === 'over') break;
        if (next === 'lost') call.attemptLost();
        logger.info({ callId, ...failureDetails(route, error) }, NOT_SERVED[next]);
      } finally {
        permit.ended();
        if (counted !== null) endCounted(call, counted, clock.nowMs());
      }
    }
    const failure = decisiveFailure(failures, isSkipped);
    if (failure === null && freeAtMs !== null) throw routesUsedUp(freeAtMs, clock.nowMs(), settings);
    throw failure ?? noHealthyRoute({ routes, accountId: principal.accountId, settings }, health, clock.nowMs());
  }

  /**
   * Returns the request for a route that needs a translation; `null` if its protocol cannot express the request, or if the call reserved
   * less than it asks for.
   */
  async #translation(call: Call, route: Route): Promise<TranslatedInput | null> {
    if (call.firstTranslation?.route === route) return call.firstTranslation;
    const { translator, logger } = this.#dependencies;
    try {
      const translation = await translator.translate(call, route);
      if (isCovered(translation.input, call.pricing, call.model)) return translation;
      translation.release();
      logger.info({ callId: call.callId, provider: route.providerId }, 'a translated request exceeds the reservation');
      return null;
    } catch (error) {
      if (!isTranslationRefusal(error)) throw error;
      return null;
    }
  }

  async #rewriting(call: Call, route: Route): Promise<RewrittenInput> {
    if (call.firstRewriting?.route === route) return call.firstRewriting;
    return this.#dependencies.rewriter.rewrite(call, route);
  }

  /** Omits routes that were drained while the call waited for admission, unless all were. */
  #undrainedRoutes({ model, routes }: Call): readonly Route[] {
    const open = withoutDrained(model, routes, this.#dependencies.drained);
    return open.length > 0 ? open : routes;
  }

  async #relayWithCredentials(
    call: Call,
    queue: RouteQueue,
    limits: RouteLimits | null,
    counted: readonly CountedCall[],
  ): Promise<void> {
    const { clock, logger } = this.#dependencies;
    const { callId, client, settings, report, session, route } = call;
    const { credentials } = settings.providers.get(route.providerId);
    if (credentials.hasCommands) await credentials.available();
    const ofCredentials = limits === null ? null : credentialLimits(limits, call.input);
    const rotation = new CredentialRotation(
      credentials,
      route.providerModel,
      session?.key ?? null,
      clock,
      ofCredentials,
    );
    call.rotation = rotation;
    for (;;) {
      try {
        const { firstByteMs } = queue;
        const isRefusal = queue.refusalsOf(call);
        const attempt = { credential: rotation.current, isRefusal, firstByteMs };
        await (report.trace === null ? this.#attempt(call, attempt, null) : this.#traced(call, attempt, report.trace));
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
        rotation.next(error, !call.isEnded && !client.isCommitted && !client.isGone);
        for (const { use } of counted) use.repeat(clock.nowMs());
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
      await this.#attempt(call, attempt, open);
      ended(null);
    } catch (error) {
      ended(toResponse(error).code);
      throw error;
    }
  }

  #attempt(call: Call, attempt: Attempt, open: OpenAttempt | null): Promise<void> {
    const upstream = upstreamRequest(call, attempt, open);
    return call.input.isStream
      ? relayStream(call, upstream, this.#dependencies, attempt.isRefusal)
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

const NOT_COUNTED: readonly CountedCall[] = [];
const ACCOUNT_REFUSED = "a provider does not accept the operator's credential or account";

const NOT_SERVED = {
  next: 'a route did not accept the call',
  lost: 'a call that might have run is attempted again',
} as const;

/** Images are attempted again only if the model says so: they cost most. */
function retryTermsOf({ model: { retry }, policy }: Call): RetryTerms | null {
  return retry !== null && (retry.includesImages || !policy.operation.isAlwaysAwaited) ? retry : null;
}
