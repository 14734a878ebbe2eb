import type { PlanWindow } from '../../../protocols/plan-windows.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, ActivePlan, AdmissionContext } from '../account-state.ts';
import type { CallUse, Refusal, ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** A call that may not have a body yet. */
export type AskingCall = Pick<ReservationRequest, 'accountId' | 'keyId' | 'isKeyLimited' | 'memberId'> & {
  readonly isOnPlan: boolean;
  /** `null`: the body has not been read. */
  readonly request: ReservationRequest | null;
};

/** One file per limit, with a line in `all.ts` and its columns. Only called for calls to which the limit applies. Pure except for the given state. */
export interface Limit {
  /** For a plan: brings its count up to date, for example as a window moves on. Once per batch. */
  advance?(plan: ActivePlan, context: AdmissionContext): void;
  /** Why it refuses a call now; `null` if it does not. Changes nothing. */
  refuse(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null;
  /** Takes what an admitted call may use, and sets in the reservation what the end of the call needs. */
  take?(request: ReservationRequest, account: AccountState, reservation: Reservation, context: AdmissionContext): void;
  /** For a window of calls: its use as shown to clients; `null` if that is unknown. */
  window?(plan: ActivePlan, context: AdmissionContext): PlanWindow | null;
  /** At the end of a call: gives back its reservation, and counts its use in the current periods. */
  free?(reservation: ReservedLimits, use: CallUse, account: AccountState, periods: RunningPeriods): void;
}
