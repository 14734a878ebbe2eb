import { budgetIdsOfCall } from '../accounting/accounts/caller-budget-ids.ts';
import { CALLER_ROWS_A_DAY_MAX } from '../accounting/reservations/limits/caller-budgets.ts';
import {
  type Admission,
  factsText,
  type GroupLimits,
  type ReachedRate,
  type Refusal,
  type RefusedCaller,
  type ReservationRequest,
} from '../accounting/reservations/reservation.ts';
import type { Reservations } from '../accounting/reservations/reservations.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError, type GatewayErrorOptions, quoted } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Catalog } from '../providers/catalog/catalog.ts';
import type { AdmissionQueue } from './admission-queue.ts';
import type { Call } from './call.ts';
import type { PricingSide } from './call-pricing.ts';
import type { EndpointPolicy } from './call-request.ts';
import { rateHeaders, resetHeaders } from './relay/call-headers.ts';
import { mostRequestedOutput } from './reservation-estimate.ts';
import { quotaReset, retryAfter, SOON } from './retry-after.ts';
import type { Settings } from './settings.ts';

interface AdmissionDependencies {
  readonly reservations: Pick<Reservations, 'admit' | 'look'>;
  readonly queue: AdmissionQueue;
  /** Limits are reset by this clock, so error messages use it too. */
  readonly databaseClock: Clock;
}

export interface PrecheckRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly isKeyLimited: boolean;
  readonly memberId: string | null;
  readonly groupId: string | null;
  readonly policy: EndpointPolicy;
  readonly settings: Settings;
}

export class CallAdmission {
  readonly #dependencies: AdmissionDependencies;

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Reserves the maximum use of a call. When it resolves, the reservation is durable until the call is settled or released.
   * @throws GatewayError if the call is refused; nothing is reserved then
   */
  async admit(call: Call): Promise<void> {
    const { reservations, databaseClock } = this.#dependencies;
    const request = reservationRequest(call);
    const admission =
      request.plan === null ? await reservations.admit(request) : await this.#admitQueued(request, call);
    const nowMs = databaseClock.nowMs();
    if (!admission.isAdmitted) throw refusalError(admission.refusal, call, nowMs);
    call.admitted(admission, nowMs);
  }

  /**
   * Checks balance and limits before the body is read, without reserving anything.
   * @throws GatewayError if an admission would be refused now, with any body
   */
  async precheck(request: PrecheckRequest): Promise<void> {
    const { reservations, databaseClock } = this.#dependencies;
    const { accountId, keyId, isKeyLimited, memberId, groupId, policy, settings } = request;
    const isOnPlan = policy.context === 'coding';
    const groupLimits = limitsOfGroup(settings.catalog.of(groupId));
    const call = { accountId, keyId, isKeyLimited, memberId, budgetIds: null, groupLimits, isOnPlan };
    const refusal = await reservations.look(call);
    if (refusal !== null) throw refusalError(refusal, request, databaseClock.nowMs());
  }

  /** At the concurrency limit, the call waits in the plan's admission queue, if there is one. */
  async #admitQueued(request: ReservationRequest, { settings, client }: Call): Promise<Admission> {
    const { reservations, queue } = this.#dependencies;
    const { accountId } = request;
    const place = queue.arrive();
    const occupied = queue.limitsOf(accountId);
    let admission = occupied === null ? await reservations.admit(request) : CONCURRENCY_LIMITED;
    if (admission.isAdmitted || !isConcurrencyLimited(admission)) return admission;
    const { planId } = admission;
    const limits = occupied ?? settings.plans.find((plan) => plan.id === planId)?.queue ?? NO_QUEUE;
    const result = await queue.wait(accountId, limits, {
      place,
      async attempt() {
        admission = await reservations.admit(request);
        return !isConcurrencyLimited(admission);
      },
      onGone: (listener) => client.onGone(listener),
    });
    // The call was not admitted, so the client can safely retry it on another node.
    if (result === 'closed') throw new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    return admission;
  }
}

const CONCURRENCY_LIMITED: Admission = {
  isAdmitted: false,
  refusal: { kind: 'packageConcurrencyLimited', retryAt: 'soon' },
  planId: null,
};
const NO_QUEUE = { length: 0, waitMs: 0 };

function isConcurrencyLimited(admission: Admission): boolean {
  return !admission.isAdmitted && admission.refusal.kind === 'packageConcurrencyLimited';
}

const limitsOfGroup = ({ group }: Catalog): GroupLimits | null => (group === null ? null : group.limits);

function reservationRequest(call: Call): ReservationRequest {
  const { policy, principal, input, catalog, model, routes, inner, sides } = call;
  const { price, reservation, groupFactorBasisPoints } = call.pricing;
  const [first] = routes;
  const isOnPlan = policy.context === 'coding';
  return {
    accountId: principal.accountId,
    callId: call.callId,
    keyId: principal.keyId,
    model: model.id,
    modelAliases: model.aliases,
    isKeyLimited: principal.isKeyLimited,
    memberId: principal.memberId,
    budgetIds: isOnPlan ? null : budgetIdsOfCall(call),
    isRateLimited: principal.isRateLimited,
    groupLimits: limitsOfGroup(catalog),
    groupFactorBasisPoints,
    tokens: reservation.tokens,
    amountNano: isOnPlan ? null : reservation.amountNano,
    sides: sides === null ? null : sides.map(requestSide),
    plan: isOnPlan
      ? {
          inputBytes: input.sizeBytes,
          outputTokensRequested: mostRequestedOutput(call, model),
          tokens: reservation.tokens,
          innerModels: inner.map((each) => each.model.id),
        }
      : null,
    facts: factsText({
      context: policy.context,
      operation: policy.operation.name,
      provider: first!.providerId,
      providerModel: first!.providerModel,
      isStream: input.isStream,
      requestId: call.requestId,
      priceRule: price.rule,
      startedAtMs: call.startedAtMs,
      groupId: principal.groupId,
      caller: call.caller,
    }),
  };
}

const requestSide = ({ fromMs, reservation, groupFactorBasisPoints }: PricingSide) => ({
  fromMs,
  amountNano: reservation.amountNano,
  groupFactorBasisPoints,
});

/** The parts of a request that determine the message and headers of its refusal. */
type Refused = Pick<PrecheckRequest, 'policy' | 'settings'>;

function refusalError(refusal: Refusal, refused: Refused, nowMs: number): GatewayError {
  const { kind, isPaymentRequired, param, budgetCaller } = refusal;
  return new GatewayError(kind, {
    ...(isPaymentRequired && { status: refused.policy.moneyStatus }),
    ...(param !== undefined && { param }),
    // Logs and records of refusals do not contain end users (`docs/callers.md`).
    ...(budgetCaller?.kind === 'endUser' && { recordedMessage: errorCatalogue[kind].message }),
    ...whenToRetry(refusal, refused, nowMs),
  });
}

function whenToRetry(refusal: Refusal, refused: Refused, nowMs: number): GatewayErrorOptions {
  const { retryAt, windows = [], rate } = refusal;
  const reached = messageOf(refusal);
  if (retryAt === null) return { message: reached };
  if (rate !== undefined && retryAt !== 'soon') return minuteReached(rate, retryAt, refused, nowMs);
  if (retryAt === 'soon') {
    const message = SPENDING_KINDS.has(refusal.kind) ? `${reached} ${HELD}` : reached;
    return { retry: 'yes', headers: SOON, message };
  }
  const { policy, settings } = refused;
  const own = { ...resetHeaders(retryAt), ...policy.operation.planHeaders?.(windows, true) };
  return {
    message: `${reached} ${quotaReset(retryAt, nowMs, settings.localTime)}`,
    resetAtMs: retryAt,
    headers: { ...retryAfter(retryAt, nowMs), ...(settings.config.server.callHeaders && own) },
  };
}

/** Returns the message of a refusal, which names the model, the end user or the tag whose own budget is used up. */
function messageOf({ kind, budgetModel, budgetCaller }: Refusal): string {
  const { message } = errorCatalogue[kind];
  if (budgetCaller !== undefined) return callerMessage(message, budgetCaller);
  if (budgetModel === undefined) return message;
  return message.replace(' spending limit', () => ` spending limit for the model ${budgetModel}`);
}

function callerMessage(message: string, { kind, value, isShared }: RefusedCaller): string {
  const name = `The ${kind === 'tag' ? 'tag' : 'end user'} "${quoted(value)}"`;
  const named = message.replace('This end user or tag', () => name);
  return isShared ? `${named} ${SHARED}` : named;
}

const SHARED = `It shares this limit with others that were new today, beyond the first ${CALLER_ROWS_A_DAY_MAX}.`;

/** A limit per minute soon resets, so clients can wait. Its error type therefore differs from that of an exhausted quota. */
function minuteReached(rate: ReachedRate, retryAtMs: number, refused: Refused, nowMs: number): GatewayErrorOptions {
  const { of, max, isOfKey, model } = rate;
  const owner = isOfKey ? 'API key' : 'account';
  const seconds = Math.max(Math.ceil((retryAtMs - nowMs) / 1_000), 1);
  const own = { ...resetHeaders(retryAtMs), ...rateHeaders(rate.status, nowMs, refused) };
  return {
    message:
      `The limit of ${max} ${of} per minute of this ${owner}${model === null ? '' : ` for ${model}`} is reached. ` +
      `Please try again in ${seconds}s.`,
    headers: { ...retryAfter(retryAtMs, nowMs), ...(refused.settings.config.server.callHeaders && own) },
  };
}

const SPENDING_KINDS: ReadonlySet<Refusal['kind']> = new Set([
  'balanceDailyLimitExceeded',
  'keyTotalSpendLimitReached',
  'keyMonthlySpendLimitReached',
  'keyWeeklySpendLimitReached',
  'keySpendLimitReached',
  'memberTotalSpendLimitReached',
  'memberMonthlySpendLimitReached',
  'memberWeeklySpendLimitReached',
  'memberSpendLimitReached',
  'callerMonthlySpendLimitReached',
  'callerWeeklySpendLimitReached',
  'callerSpendLimitReached',
]);

const HELD = 'Calls in flight have reserved part of this limit. Try again when one of them has ended.';
