import type { PlanWindow } from '../../../protocols/plan-windows.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, ActivePlan, AdmissionContext } from '../account-state.ts';
import type { CallUse, Refusal, ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** A call that requests admission. Its body might not be read yet. */
export type AskingCall = Pick<ReservationRequest, 'accountId' | 'keyId' | 'isKeyLimited' | 'memberId'> & {
  readonly isOnPlan: boolean;
  /** `null`: the body is not read yet. */
  readonly request: ReservationRequest | null;
};

/**
 * A limit on calls. Each limit has its own file, a line in `all.ts` and its columns. Methods are only called for calls to which the limit
 * applies. They are pure except for changes of the given state.
 */
export interface Limit {
  /** For plans: brings the count up to date, for example when a window moves. Called once per batch. */
  advance?(plan: ActivePlan, context: AdmissionContext): void;
  /** Returns why the limit refuses a call now; `null` if it does not. Changes nothing. */
  refuse(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null;
  /** Takes the maximum use of an admitted call, and records in the reservation what is needed when the call ends. */
  take?(request: ReservationRequest, account: AccountState, reservation: Reservation, context: AdmissionContext): void;
  /** For windows of calls: returns the use of the window as shown to clients; `null` if it is unknown. */
  window?(plan: ActivePlan, context: AdmissionContext): PlanWindow | null;
  /** Called when a call ends: gives back the reservation of the call and counts its use in the current periods. */
  free?(reservation: ReservedLimits, use: CallUse, account: AccountState, periods: RunningPeriods): void;
}
