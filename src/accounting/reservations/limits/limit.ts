import type { PlanWindow } from '../../../protocols/plan-windows.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, ActivePlan, AdmissionContext } from '../account-state.ts';
import type { CallUse, Refusal, ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** The body of the call might not be read yet. */
export type AskingCall = Pick<
  ReservationRequest,
  'accountId' | 'keyId' | 'isKeyLimited' | 'memberId' | 'budgetIds' | 'groupLimits'
> & {
  readonly isOnPlan: boolean;
  /** `null`: the body is not read yet. */
  readonly request: ReservationRequest | null;
};

/** Methods are only called for calls to which the limit applies. They are pure except for changes of the given state. */
export interface Limit {
  /** For plans: brings the count up to date. Called once per batch. */
  advance?(plan: ActivePlan, context: AdmissionContext): void;
  /** Returns why the limit refuses a call now, or `null`. Changes nothing. */
  refuse(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null;
  /** Takes the maximum use of an admitted call, and records in the reservation what is needed when the call ends. */
  take?(request: ReservationRequest, account: AccountState, reservation: Reservation, context: AdmissionContext): void;
  /** For windows of calls: the use as shown to clients; `null`: unknown. */
  window?(plan: ActivePlan, context: AdmissionContext): PlanWindow | null;
  /** Called when a call ends: gives back its reservation and counts its use in the current periods. */
  free?(reservation: ReservedLimits, use: CallUse, account: AccountState, periods: RunningPeriods): void;
}
