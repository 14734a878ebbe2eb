import type { PlanWindow } from '../../protocols/plan-windows.ts';
import { atPriceFactor, factorInForce, LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { type AccountState, type ActivePlan, type AdmissionContext, activePlanAt } from './account-state.ts';
import { limitsOf, PLAN_LIMITS } from './limits/all.ts';
import { shownBudgets } from './limits/key-budgets.ts';
import type { AskingCall, Limit } from './limits/limit.ts';
import { hasRates, rateStatus } from './limits/minute-rates.ts';
import {
  type Admission,
  RESERVED_NANO_MAX,
  type Refusal,
  type Remaining,
  type ReservationRequest,
  type ShownBudget,
} from './reservation.ts';
import { NOT_LIMITED, type Reservation } from './tables.ts';

interface AdmissionDecision {
  readonly admissions: readonly Admission[];
  readonly reservations: readonly Reservation[];
}

/** Decides on calls in the order of arrival. Pure, except that it changes `accounts` to their state after the batch. */
export function decideAdmissions(
  requests: readonly ReservationRequest[],
  accounts: ReadonlyMap<string, AccountState>,
  context: AdmissionContext,
): AdmissionDecision {
  const reservations: Reservation[] = [];
  const admissions: Admission[] = [];
  advanceAll(accounts, context);
  for (const request of requests)
    admissions.push(admit(request, accounts.get(request.accountId), context, reservations));
  return { admissions, reservations };
}

function admit(
  asked: ReservationRequest,
  account: AccountState | undefined,
  context: AdmissionContext,
  reservations: Reservation[],
): Admission {
  if (account === undefined) return { isAdmitted: false, refusal: UNKNOWN_ACCOUNT, planId: null };
  const { sides } = asked;
  const side = sides === null ? 0 : sides.findLastIndex(({ fromMs }) => fromMs <= context.nowMs);
  const listed = sides === null ? asked : { ...asked, ...sides[side]! };
  const priceFactorBasisPoints = factorInForce(account.money.priceFactorBasisPoints, listed.groupFactorBasisPoints);
  const request = pricedRequest(listed, priceFactorBasisPoints);
  const { accountId, keyId, isKeyLimited, memberId, budgetIds, groupLimits } = request;
  const isOnPlan = request.plan !== null;
  const isRated = hasRates(request, account, context);
  const limits = limitsOf(isKeyLimited, memberId !== null, isOnPlan, isRated, budgetIds !== null);
  const call = { accountId, keyId, isKeyLimited, memberId, budgetIds, groupLimits, isOnPlan, request };
  const refusal = firstRefusal(limits, call, account, context);
  if (refusal !== null) return { isAdmitted: false, refusal, planId: account.activePlan?.terms.id ?? null };
  const reservation = emptyReservation(request, context);
  for (const limit of limits) limit.take?.(request, account, reservation, context);
  reservations.push(reservation);
  return {
    isAdmitted: true,
    remaining: remainingOf(request, account, context),
    rates: isRated ? rateStatus(request, account, context) : null,
    budgets:
      isKeyLimited || memberId !== null || budgetIds !== null ? shownBudgets(request, account, context) : NO_BUDGETS,
    priceFactorBasisPoints,
    side,
    ...(isOnPlan && { planId: account.activePlan!.terms.id }),
  };
}

const NO_BUDGETS: readonly ShownBudget[] = [];

/** Brings the limits of plans up to date. Once per batch, because an expired slot must be subtracted only once. */
function advanceAll(accounts: ReadonlyMap<string, AccountState>, context: AdmissionContext): void {
  for (const account of accounts.values()) {
    account.activePlan = account.currentSubscriptionId === null ? null : activePlanAt(account, context);
    if (account.activePlan === null) continue;
    for (const limit of PLAN_LIMITS) limit.advance?.(account.activePlan, context);
  }
}

/** The account was deleted while its key was cached. */
export const UNKNOWN_ACCOUNT: Refusal = { kind: 'invalidApiKey', retryAt: null };

/** Returns the refusal of the first exhausted limit, or `null`. Before the body is read, limits that may soon have capacity are skipped. */
function firstRefusal(
  limits: readonly Limit[],
  call: AskingCall,
  account: AccountState,
  context: AdmissionContext,
): Refusal | null {
  for (const limit of limits) {
    const refusal = limit.refuse(call, account, context);
    if (refusal === null || (call.request === null && refusal.retryAt === 'soon')) continue;
    return withWindows(refusal, account.activePlan, context);
  }
  return null;
}

/** Returns for each call the refusal that depends neither on its body nor on calls in flight, or `null`. Updates `accounts`. */
export function decideLooks(
  calls: readonly Omit<AskingCall, 'request'>[],
  accounts: ReadonlyMap<string, AccountState>,
  context: AdmissionContext,
): (Refusal | null)[] {
  advanceAll(accounts, context);
  return calls.map((call) => {
    const account = accounts.get(call.accountId);
    if (account === undefined) return UNKNOWN_ACCOUNT;
    const limits = limitsOf(call.isKeyLimited, call.memberId !== null, call.isOnPlan, false, false);
    return firstRefusal(limits, { ...call, request: null }, account, context);
  });
}

/** Applies the price factor of the account. It was read with the row locked, so a change applies to all later admissions on every node. */
function pricedRequest(request: ReservationRequest, priceFactorBasisPoints: number): ReservationRequest {
  const { amountNano } = request;
  if (amountNano === null || priceFactorBasisPoints === LIST_PRICE_BASIS_POINTS) return request;
  const pricedNano = atPriceFactor(amountNano, priceFactorBasisPoints);
  return { ...request, amountNano: pricedNano < RESERVED_NANO_MAX ? pricedNano : RESERVED_NANO_MAX };
}

function emptyReservation(request: ReservationRequest, { nodeId, nowMs }: AdmissionContext): Reservation {
  const { accountId, callId, keyId, model, facts } = request;
  return {
    accountId,
    callId,
    keyId,
    model,
    nodeId,
    reservedAtMs: nowMs,
    facts,
    ...NOT_LIMITED,
  };
}

function remainingOf({ plan }: ReservationRequest, account: AccountState, context: AdmissionContext): Remaining {
  if (plan === null) return { availableNano: account.money.balanceNano - account.money.reservedNano };
  const windows = windowsOf(account.activePlan, context);
  if (windows === null) return null;
  let calls = Number.POSITIVE_INFINITY;
  for (const { limit, used } of windows) calls = Math.min(calls, limit - used);
  return { calls, windows };
}

/** Returns the windows of a plan; `null` if there is no plan, or if the use of a window is unknown. */
function windowsOf(plan: ActivePlan | null, context: AdmissionContext): PlanWindow[] | null {
  if (plan === null) return null;
  const windows: PlanWindow[] = [];
  for (const limit of PLAN_LIMITS) {
    const window = limit.window?.(plan, context);
    if (window === null) return null;
    if (window !== undefined) windows.push(window);
  }
  return windows;
}

function withWindows(refusal: Refusal, plan: ActivePlan | null, context: AdmissionContext): Refusal {
  const windows = WINDOW_KINDS.has(refusal.kind) ? windowsOf(plan, context) : null;
  return windows === null ? refusal : { ...refusal, windows };
}

const WINDOW_KINDS: ReadonlySet<Refusal['kind']> = new Set([
  'packageFiveHourQuotaExhausted',
  'packageWeeklyQuotaExhausted',
]);
