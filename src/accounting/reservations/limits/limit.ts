import type { PlanWindow } from '../../../protocols/plan-windows.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, ActivePlan, AdmissionContext } from '../account-state.ts';
import type { CallUse, Refusal, ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** A call that asks for admission, possibly before its body is read. */
export type AskingCall = Pick<
  ReservationRequest,
  'accountId' | 'keyId' | 'isKeyLimited' | 'memberId' | 'budgetIds' | 'groupLimits'
> & {
  readonly isOnPlan: boolean;
  /** What the call reserves; `null`: the body is not read yet. */
  readonly request: ReservationRequest | null;
};

/** A limit. Its methods are called only for calls to which it applies. They change nothing but the given state. */
export interface Limit {
  /** For limits of a plan: brings the count up to date. Called once per batch. */
  advance?(plan: ActivePlan, context: AdmissionContext): void;
  /** Returns why the limit refuses a call now, or `null`. Changes nothing. */
  refuse(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null;
  /** Takes the maximum use of an admitted call, and records in the reservation what is needed when the call ends. */
  take?(request: ReservationRequest, account: AccountState, reservation: Reservation, context: AdmissionContext): void;
  /** For windows of calls: returns the use that clients see; `null`: unknown. */
  window?(plan: ActivePlan, context: AdmissionContext): PlanWindow | null;
  /** Called when a call ends. Frees what it reserved, and counts what it used in the current periods. */
  free?(reservation: ReservedLimits, use: CallUse, account: AccountState, periods: RunningPeriods): void;
}
