import type { PlanWindow } from '../../protocols/plan-windows.ts';
import { atPriceFactor, LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { type AccountState, type AdmissionContext, activePlan } from './account-state.ts';
import { LIMITS } from './limits/all.ts';
import { shownBudgets } from './limits/key-budgets.ts';
import type { AskingCall } from './limits/limit.ts';
import { rateStatus } from './limits/minute-rates.ts';
import {
  type Admission,
  RESERVED_NANO_MAX,
  type Refusal,
  type Remaining,
  type ReservationRequest,
} from './reservation.ts';
import { NOT_LIMITED, type Reservation } from './tables.ts';

interface AdmissionDecision {
  /** One a request, in the same order. */
  readonly admissions: readonly Admission[];
  readonly reservations: readonly Reservation[];
}

/**
 * Decides on a batch of calls, one by one in order of arrival: what an admitted call takes, the next one does not have; a
 * refused call changes nothing. Pure but for `accounts`, which it changes to their state after the batch.
 */
export function decideAdmissions(
  requests: readonly ReservationRequest[],
  accounts: ReadonlyMap<string, AccountState>,
  context: AdmissionContext,
): AdmissionDecision {
  const reservations: Reservation[] = [];
  advanceAll(accounts, context);
  const admissions = requests.map((asked): Admission => {
    const account = accounts.get(asked.accountId);
    if (account === undefined) return { isAdmitted: false, refusal: UNKNOWN_ACCOUNT, planId: null };
    const { priceFactorBasisPoints } = account.money;
    const request = pricedRequest(asked, priceFactorBasisPoints);
    const refusal = firstRefusal(askingCall(request), account, context);
    if (refusal !== null) {
      return { isAdmitted: false, refusal, planId: activePlan(account, context)?.terms.id ?? null };
    }
    const reservation = emptyReservation(request, context);
    for (const limit of LIMITS) limit.take?.(request, account, reservation, context);
    reservations.push(reservation);
    return {
      isAdmitted: true,
      remaining: remainingOf(request, account, context),
      rates: rateStatus(request, account, context),
      budgets: shownBudgets(request, account, context),
      priceFactorBasisPoints,
    };
  });
  return { admissions, reservations };
}

/** Once for each batch: what has left a window must be counted only once. */
function advanceAll(accounts: ReadonlyMap<string, AccountState>, context: AdmissionContext): void {
  for (const account of accounts.values()) for (const limit of LIMITS) limit.advance?.(account, context);
}

/** An account that was deleted while its key was still cached. */
export const UNKNOWN_ACCOUNT: Refusal = { kind: 'invalidApiKey', retryAt: null };

/**
 * The refusal of the first limit that has no room for the call; `null` if all have. Of a call whose body is not read yet it is the first
 * one that does not pass when calls in flight end.
 */
function firstRefusal(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null {
  for (const limit of LIMITS) {
    const refusal = limit.refuse(call, account, context);
    if (refusal === null || (call.request === null && refusal.retryAt === 'soon')) continue;
    return withWindows(refusal, account, context);
  }
  return null;
}

/**
 * Why an admission would refuse each call now, whatever its body says; `null` if it would not. It reserves nothing. Calls
 * in flight are left out: they may have ended when the body is there. Changes `accounts`, which are brought up to the present.
 */
export function decideLooks(
  calls: readonly Omit<AskingCall, 'request'>[],
  accounts: ReadonlyMap<string, AccountState>,
  context: AdmissionContext,
): (Refusal | null)[] {
  advanceAll(accounts, context);
  return calls.map((call) => {
    const account = accounts.get(call.accountId);
    return account === undefined ? UNKNOWN_ACCOUNT : firstRefusal({ ...call, request: null }, account, context);
  });
}

/**
 * The request with what it may cost this account. The factor was read with the account's row locked, so a change of it is
 * before this admission or after it, on every node.
 */
function pricedRequest(request: ReservationRequest, priceFactorBasisPoints: number): ReservationRequest {
  const { amountNano } = request;
  if (amountNano === null || priceFactorBasisPoints === LIST_PRICE_BASIS_POINTS) return request;
  const pricedNano = atPriceFactor(amountNano, priceFactorBasisPoints);
  return { ...request, amountNano: pricedNano < RESERVED_NANO_MAX ? pricedNano : RESERVED_NANO_MAX };
}

function askingCall(request: ReservationRequest): AskingCall {
  const { accountId, keyId, isKeyLimited, memberId, plan } = request;
  return { accountId, keyId, isKeyLimited, memberId, isOnPlan: plan !== null, request };
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

/** What remains after this call's reservation. */
function remainingOf({ plan }: ReservationRequest, account: AccountState, context: AdmissionContext): Remaining {
  if (plan === null) return { availableNano: account.money.balanceNano - account.money.reservedNano };
  const windows = windowsOf(account, context);
  if (windows === null) return null;
  return { calls: Math.min(...windows.map(({ limit, used }) => limit - used)), windows };
}

/** The windows of the account's plan; `null` if it has none, or where what is used of one is not known. */
function windowsOf(account: AccountState, context: AdmissionContext): PlanWindow[] | null {
  const active = activePlan(account, context);
  if (active === null) return null;
  const windows: PlanWindow[] = [];
  for (const limit of LIMITS) {
    const window = limit.window?.(active, context);
    if (window === null) return null;
    if (window !== undefined) windows.push(window);
  }
  return windows;
}

/** Adds the windows to the refusal of one that is used up. */
function withWindows(refusal: Refusal, account: AccountState, context: AdmissionContext): Refusal {
  const windows = WINDOW_KINDS.has(refusal.kind) ? windowsOf(account, context) : null;
  return windows === null ? refusal : { ...refusal, windows };
}

const WINDOW_KINDS: ReadonlySet<Refusal['kind']> = new Set([
  'packageFiveHourQuotaExhausted',
  'packageWeeklyQuotaExhausted',
]);
