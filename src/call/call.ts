import type { Model, Route } from '../catalog/catalog.ts';
import type { OperationName } from '../config/schema.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { chargeBasis } from '../pricing/charge.ts';
import { priceInForce } from '../pricing/price.ts';
import { factsText } from '../reservations/call-facts.ts';
import type { Affinities } from '../routing/affinities.ts';
import type { Affinity } from '../routing/affinity-store.ts';
import { type Chance, orderRoutes } from '../routing/choose.ts';
import type { RouteHealth, RoutePermit } from '../routing/health.ts';
import type { Settlement } from '../settlement/settlement.ts';
import { upstreamHeaders } from '../upstream/headers.ts';
import type { Admit } from './admission.ts';
import { AdmittedCall } from './admitted-call.ts';
import type { Attempt } from './attempt.ts';
import type { CallRequest } from './call-request.ts';
import type { AbortLimits, OnClientAbort } from './client-abort.ts';
import { findContinuation, routesToState } from './continuation.ts';
import { countsAllTheSame, mayHaveRun, mayTryAnother, reportFailure, reportResult } from './failover.ts';
import { continuedTokens, estimateHold, requestedOutput } from './hold-estimate.ts';
import { allowInnerModels } from './inner-models.ts';
import { relayJson } from './relay-json.ts';
import { relayStream } from './relay-stream.ts';
import { retryAfter } from './retry-after.ts';
import type { Settings } from './settings.ts';
import { type EstimateParts, streamEstimates } from './stream-estimates.ts';
import { toAnswer } from './to-answer.ts';

export interface CallParts extends EstimateParts {
  readonly admit: Admit;
  /** A call of the account has ended: one that waits for its turn may go on. */
  readonly onEnded: (accountId: string) => void;
  readonly settlement: Settlement;
  readonly affinities: Affinities;
  readonly health: RouteHealth;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly chance: Chance;
  readonly logger: Logger;
  readonly abortLimits: AbortLimits;
}

/**
 * The life of a call (design 7) from the checked body on, in order: resolve the model, order its routes, admit, send, relay
 * while measuring, settle, last byte, record. All branching of a call is here and in the two relays.
 *
 * @throws GatewayError where the call is refused or fails before its answer has begun.
 */
export function createCallRunner(parts: CallParts): (request: CallRequest) => Promise<void> {
  const { admit, onEnded, settlement, affinities, health, clock, ids, chance, logger } = parts;

  return async function runCall(request): Promise<void> {
    const { terms, principal, input, client, settings } = request;
    const { operation } = terms;
    const { accountId } = principal;
    const named = input.model === null ? null : settings.catalog.resolve(input.model, operation.name);
    const hasChoice = named === null || named.routes[operation.protocol].length > 1;
    const { affinity, unknown } = await findContinuation(affinities, accountId, input, hasChoice);
    const model = named ?? restoredModel(affinity, operation.name, settings);
    input.checkFor(model.id);
    const ordered = orderRoutes(model, operation.protocol, chance, affinity?.providerId);
    const routes = routesToState(ordered, unknown, settings.providers);
    const startedAtMs = clock.nowMs();
    if (!routes.some((route) => health.allows(route.id, accountId))) {
      throw noHealthyRoute(routes, health, accountId, startedAtMs);
    }

    if (!settlement.canTakeCalls) throw new GatewayError('journalUnwritable');

    const callId = ids.next('call');
    const price = priceInForce(model.price, startedAtMs);
    const basis = chargeBasis(operation.name, price.prices);
    const inner = allowInnerModels(input.demand.innerModels, model, settings.catalog, startedAtMs);
    const continued = continuedTokens(input.demand, affinity?.totalTokens, model);
    const hold = estimateHold(input, { model, prices: price.prices, basis, continuedTokens: continued });
    // Each of them may read all of it, and write as much as it can.
    const innerHolds = inner.map((each) =>
      estimateHold(
        { ...input, demand: { ...input.demand, outputTokensLimit: null } },
        { model: each.model, prices: each.price.prices, basis: 'tokens', continuedTokens: continued },
      ),
    );
    const remaining = await admit({
      call: {
        accountId,
        callId,
        keyId: principal.keyId,
        model: model.id,
        isKeyLimited: principal.isKeyLimited,
        ...(terms.context === 'balance'
          ? { amountNano: innerHolds.reduce((sum, { amountNano }) => sum + amountNano, hold.amountNano), plan: null }
          : {
              amountNano: null,
              plan: {
                inputBytes: input.sizeBytes,
                outputTokensRequested: requestedOutput(input, model) ?? 0,
                tokens: innerHolds.reduce((sum, { tokens }) => sum + tokens, hold.tokens),
                innerModels: inner.map((each) => each.model.id),
              },
            }),
        facts: factsText({
          context: terms.context,
          operation: operation.name,
          provider: routes[0]!.providerId,
          providerModel: routes[0]!.providerModel,
          isStream: input.isStream,
          requestId: request.requestId,
          priceRule: price.rule,
          startedAtMs,
        }),
      },
      terms,
      settings,
      client,
    });
    const facts = { callId, model, price, basis, inner, startedAtMs, remaining };
    const call = new AdmittedCall(facts, request, { settlement, onEnded, route: routes[0]!, clock, logger });

    function attemptOver({ id: routeId, providerId, providerModel }: Route, permit: RoutePermit): Attempt {
      const body = input.toProvider(providerModel);
      const provider = settings.providers.get(providerId);
      const mountedNames = operation.protocol === 'messages' ? settings.messagesNames : settings.chatNames;
      return {
        input,
        basis,
        client,
        requestId: request.requestId,
        estimates: streamEstimates(parts, {
          holder: principal,
          operation: operation.name,
          model,
          routeId,
          body,
          inputTokensBySize: hold.inputTokens,
          reservation: { amountNano: hold.amountNano, prices: price.prices, basis },
        }),
        onClientAbort: onClientAbort(operation.name, model, settings),
        abortLimits: parts.abortLimits,
        keptBytesMax: request.claim?.bodyBytesMax ?? 0,
        keepAliveMs: settings.config.server.sseKeepAlive ?? null,
        request: {
          provider,
          account: principal,
          path: operation.upstreamPath,
          headers: upstreamHeaders(provider, request.headers, mountedNames, input),
          body,
        },
        began: () => permit.began(),
        async settle(result, answer) {
          reportResult(permit, result);
          try {
            await call.settle(result, answer);
          } catch (error) {
            logger.error({ err: error, callId, chargedTokens: result.usage }, 'a call could not be settled');
            throw new GatewayError('settlementFailed', { cause: error });
          }
        },
      };
    }

    try {
      let failure: unknown = null;
      for (const route of routes) {
        // A client that left before the provider was called would pay for an answer that nobody reads.
        if (client.isGone) throw new GatewayError('malformedHttp');
        const permit = health.enter(route.id, accountId);
        if (permit === null) continue;
        call.goesOver(route, failure === null ? null : toAnswer(failure));
        try {
          const attempt = attemptOver(route, permit);
          await (input.isStream ? relayStream(attempt, clock) : relayJson(attempt, clock));
          return;
        } catch (error) {
          reportFailure(permit, error);
          failure = error;
          if (call.isEnded || client.hasBegun || !mayTryAnother(error)) break;
          logger.info({ err: error, callId, provider: route.providerId }, 'a route did not take the call');
        } finally {
          permit.ended();
        }
      }
      throw failure ?? noHealthyRoute(routes, health, accountId, clock.nowMs());
    } catch (error) {
      const answer = toAnswer(error);
      if (answer.status >= 500) logger.warn({ err: error, callId, provider: call.route.providerId }, 'a call failed');
      if (!call.isEnded) {
        await call
          .release(answer, { mayHaveRun: mayHaveRun(error), counts: countsAllTheSame(error) })
          .catch((failed: unknown) => {
            logger.error({ err: failed, callId }, 'a call that failed could not be ended in the books yet');
          });
      }
      if (!client.hasBegun) throw answer;
    }
  };
}

function noHealthyRoute(routes: readonly Route[], health: RouteHealth, accountId: string, nowMs: number): GatewayError {
  const retryAtMs = Math.min(...routes.map(({ id }) => health.retryAtMs(id, accountId)));
  const options = { param: 'model', headers: retryAfter(retryAtMs, nowMs) };
  if (!routes.some(({ id }) => health.isClosedForAccountOnly(id, accountId))) {
    return new GatewayError('noHealthyRoute', options);
  }
  const message =
    'Calls of this account have failed several times in a row on every route of this model. Try again after a while, and ' +
    'look at what these calls have in common.';
  return new GatewayError('noHealthyRoute', { ...options, message });
}

/** What a provider bills for images does not show before they have come, so they are always awaited. */
function onClientAbort(operation: OperationName, model: Model, { config }: Settings): OnClientAbort {
  if (operation === 'images.generate' || operation === 'images.edit') return 'drain';
  return model.onClientAbort ?? config.billing.onClientAbort;
}

/** The model of a call that names none: that of the earlier call that it continues (contract 4.3). */
function restoredModel(affinity: Affinity | null, operation: OperationName, { catalog }: Settings): Model {
  if (affinity !== null) return catalog.resolve(affinity.model, operation);
  throw invalidRequest(
    'The field "model" may be null only where "previous_response_id" or an item with "encrypted_content" came from an ' +
      'earlier call through this gateway. Name the model.',
    'model',
  );
}
