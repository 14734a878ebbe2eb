import { budgetIdsOfCall } from '../accounting/accounts/caller-budget-ids.ts';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { RecordedCaller } from '../accounting/accounts/recording.ts';
import type { CallAttempt, CallOutcome, FailedRoute } from '../accounting/calls/call-outcome.ts';
import { type CallCharge, type CostTerms, chargeCall } from '../accounting/pricing/call-charge.ts';
import { chargeBasis } from '../accounting/pricing/charge.ts';
import { priceInForce } from '../accounting/pricing/price.ts';
import { atPriceFactor } from '../accounting/pricing/price-factor.ts';
import type { StoredResponse } from '../accounting/repeats/stored-response.ts';
import type { StoredClaim } from '../accounting/repeats/stored-response-store.ts';
import type { Claim } from '../accounting/repeats/stored-responses.ts';
import type { Remaining } from '../accounting/reservations/reservation.ts';
import type { MadeState, SettlementRecord } from '../accounting/settlement/settlement-record.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import { totalTokens, type UsageFacts } from '../protocols/metering/usage-facts.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import type { FallbackTerms } from '../providers/catalog/attempt-terms.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import type { CallPricing } from './call-pricing.ts';
import type { CallReport, CallSession, EndpointPolicy } from './call-request.ts';
import type { Fallback } from './fallback.ts';
import { chargeHeaders, modelHeader } from './relay/call-headers.ts';
import type { TranslatedInput } from './translated-input.ts';

export interface CallEnd {
  readonly status: CallOutcome['status'];
  /** `null`: nothing is charged. */
  readonly usage: UsageFacts | null;
  readonly httpStatus: number | null;
  readonly error: GatewayError | null;
  readonly requestId: string;
  /** Whether windows and call limits count the call: true if a successful response had begun, even if nothing is charged. */
  readonly counts: boolean;
  readonly firstByteAtMs: number | null;
  readonly continuationKeys: readonly string[];
  /** The response for later requests with the same `Idempotency-Key`, without this call's headers; `null`: they run a new call. */
  readonly response: StoredResponse | null;
}

interface CallAtEnd {
  readonly policy: Pick<EndpointPolicy, 'context' | 'operation'>;
  readonly principal: Pick<
    Principal,
    'accountId' | 'keyId' | 'groupId' | 'isKeyLimited' | 'memberId' | 'modelBudgets' | 'callerBudgets'
  >;
  readonly input: Pick<CallInput, 'model' | 'isStream' | 'choices' | 'demand'>;
  readonly report: Pick<CallReport, 'clientRequestId'>;
  readonly claim: Claim | null;
  readonly caller: RecordedCaller | null;
  readonly callId: string;
  readonly startedAtMs: number;
  readonly model: Model;
  readonly reservedModel: Model;
  readonly fallback: Fallback | null;
  readonly fallbackTerms: FallbackTerms | null;
  readonly routes: readonly Route[];
  readonly route: Route;
  readonly failedRoutes: readonly FailedRoute[];
  readonly attempts: readonly CallAttempt[];
  readonly session: CallSession | null;
  /** Identifies the credential; `null`: its cost is not limited. */
  readonly costedCredential: string | null;
  readonly translation: Pick<TranslatedInput, 'answer' | 'leftOut' | 'added'> | null;
  readonly pricing: Omit<CallPricing, 'estimate' | 'groupFactorBasisPoints'>;
  readonly priceFactorBasisPoints: number;
  readonly isTokenLimited: boolean;
}

/**
 * Creates the record of everything that the end of a call stores. The charge covers the reported usage, up to the maximum that the call can
 * have used, at the price and price factor in force at admission.
 */
export function settlementRecord(call: CallAtEnd, end: CallEnd, endedAtMs: number): SettlementRecord {
  const { principal, policy, input, callId, model, route, startedAtMs, report } = call;
  const { price } = call.pricing;
  const { counts } = end;
  const isOnPlan = policy.context === 'coding';
  const charge = end.usage === null ? null : chargeOf(call, end.usage);
  const chargeNano = charge === null || isOnPlan ? null : charge.chargeNano;
  const tokens = charge === null ? 0 : totalTokens(charge.usage);
  return {
    outcome: {
      accountId: principal.accountId,
      callId,
      keyId: principal.keyId,
      groupId: principal.groupId,
      context: policy.context,
      operation: policy.operation.name,
      model: model.id,
      provider: route.providerId,
      providerModel: route.providerModel,
      failedRoutes: call.failedRoutes,
      isStream: input.isStream,
      status: end.status,
      httpStatus: end.httpStatus,
      errorCode: end.error === null ? null : end.error.code,
      requestId: end.requestId,
      clientRequestId: report.clientRequestId,
      caller: call.caller,
      startedAtMs,
      firstByteMs: end.firstByteAtMs === null ? null : end.firstByteAtMs - startedAtMs,
      endedAtMs,
      usage: charge === null ? null : charge.usage,
      notes: notesOf(call, charge, end.usage?.doubted),
      price,
      priceFactorBasisPoints: call.priceFactorBasisPoints,
      chargeNano,
      costNano: charge === null ? null : charge.costNano,
    },
    plan: isOnPlan ? { counts, tokens: counts ? tokens : 0 } : null,
    key: keyUse(call, isOnPlan, counts, chargeNano),
    rate: call.isTokenLimited ? { tokens } : null,
    kept: end.response === null ? null : kept(call, end.response, chargeNano),
    made: end.continuationKeys.length === 0 ? null : made(call, end.continuationKeys, charge && tokens, endedAtMs),
  };
}

function keyUse(
  call: CallAtEnd,
  isOnPlan: boolean,
  counts: boolean,
  chargeNano: bigint | null,
): SettlementRecord['key'] {
  const { isKeyLimited, memberId } = call.principal;
  const budgetIds = isOnPlan
    ? null
    : budgetIdsOfCall({ principal: call.principal, model: call.reservedModel, caller: call.caller });
  if (!isKeyLimited && memberId === null && budgetIds === null) return null;
  return {
    counts,
    chargeNano: chargeNano ?? 0n,
    ...(memberId !== null && { memberId }),
    ...(budgetIds !== null && { budgetIds }),
  };
}

/** `null` on a plan, which charges nothing. */
export function shownCharge({ context }: CallAtEnd['policy'], chargeNano: bigint | null): bigint | null {
  return context === 'balance' ? (chargeNano ?? 0n) : null;
}

function chargeOf(call: CallAtEnd, usage: UsageFacts): CallCharge {
  const { route, model, policy, input, priceFactorBasisPoints } = call;
  const { price, basis, inner } = call.pricing;
  return chargeCall(usage, {
    model,
    prices: price.prices,
    basis,
    inner,
    ownNames: inner.length === 0 ? NO_NAMES : [route.providerModel, model.id, ...(input.model ? [input.model] : [])],
    input,
    isPaid: policy.context === 'balance',
    priceFactorBasisPoints,
    cost: route.cost === undefined ? null : costOf(call, route.cost),
  });
}

const NO_NAMES: readonly string[] = [];

/** What the operator pays the provider, at the cost prices in force when the call began. */
function costOf(
  { policy, startedAtMs, route: { providerId } }: CallAtEnd,
  cost: NonNullable<Route['cost']>,
): CostTerms<CallPricing['inner'][number]> {
  const { prices } = priceInForce(cost, startedAtMs);
  return {
    prices,
    basis: chargeBasis(policy.operation, prices),
    ofInner({ model: { routes } }) {
      const all = Object.values(routes).flat();
      const found = all.find((each) => each.providerId === providerId)?.cost;
      return found === undefined ? null : priceInForce(found, startedAtMs).prices;
    },
  };
}

function notesOf(call: CallAtEnd, charge: CallCharge | null, doubted: UsageFacts['doubted']): CallOutcome['notes'] {
  const notes = withFallback(
    call,
    withTranslation(call, charge === null ? undefined : chargeNotesOf(call, charge, doubted)),
  );
  const { session, routes, attempts, costedCredential } = call;
  if (session === null && attempts.length === 0 && costedCredential === null) return notes;
  const { providerId: provider, providerModel: model } = routes[0]!;
  return {
    ...notes,
    ...(session !== null && { session: { source: session.source, provider, model } }),
    ...(attempts.length > 0 && { attempts }),
    ...(costedCredential !== null && charge !== null && { credential: costedCredential }),
  };
}

function withFallback({ fallback }: CallAtEnd, notes: CallOutcome['notes']): CallOutcome['notes'] {
  if (fallback === null) return notes;
  return { ...notes, fallback: { asked: fallback.asked.id, reason: fallback.reason } };
}

/** Maximum number of names in a record, and their maximum length: clients choose names of members. */
const NAMES_MAX = 64;
const NAME_LENGTH_MAX = 100;

function withTranslation({ translation }: CallAtEnd, notes: CallOutcome['notes']): CallOutcome['notes'] {
  if (translation === null) return notes;
  const { answer, leftOut, added } = translation;
  const names = (all: readonly string[]): string[] =>
    all.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX).toWellFormed());
  return { ...notes, translation: { to: answer.provider, leftOut: names(leftOut), added: names(added) } };
}

function chargeNotesOf(
  call: CallAtEnd,
  { usage, chargeNano, notes: chargeNotes }: CallCharge,
  doubted: UsageFacts['doubted'],
): CallOutcome['notes'] {
  const notes = doubted?.length ? { ...chargeNotes, doubted } : chargeNotes;
  if (usage.source !== 'estimated' || call.policy.context !== 'balance') return notes;
  const reservedNano = atPriceFactor(call.pricing.reservation.amountNano, call.priceFactorBasisPoints);
  return chargeNano > reservedNano ? { ...notes, reservedNano: reservedNano.toString() } : notes;
}

/** Keeps the call id and the charge as headers; other headers of the call are not valid in a repeated response. */
function kept(call: CallAtEnd, { head, body }: StoredResponse, chargeNano: bigint | null): StoredClaim {
  const { callId, startedAtMs, policy, model, fallbackTerms } = call;
  const ofCharge = chargeHeaders(callId, shownCharge(policy, chargeNano));
  const callHeaders = fallbackTerms === null ? ofCharge : { ...ofCharge, ...modelHeader(model) };
  const { held, keptForMs } = call.claim!;
  return { ...held, head: { ...head, callHeaders }, body, billedCallId: callId, startedAtMs, keptForMs };
}

function made({ model, route }: CallAtEnd, keys: readonly string[], tokens: number | null, atMs: number): MadeState {
  const state = { keys, model: model.id, providerId: route.providerId, atMs };
  return tokens === null ? state : { ...state, totalTokens: tokens };
}

/** If a failed call on a plan does not count, its slot is free again. */
export function remainingAfter(before: Remaining, availableNano: bigint | null, counts: boolean): Remaining {
  if (before !== null && 'calls' in before) {
    return counts ? before : { calls: before.calls + 1, windows: [] };
  }
  return availableNano === null ? before : { availableNano };
}
