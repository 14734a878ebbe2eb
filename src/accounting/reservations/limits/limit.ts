import type { PlanWindow } from '../../../protocols/plan-windows.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, ActivePlan, AdmissionContext } from '../account-state.ts';
import type { CallUse, Refusal, ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** A call before its body has been read: what depends on the body is `null`. */
export type AskingCall = Pick<ReservationRequest, 'accountId' | 'keyId' | 'isKeyLimited' | 'memberId'> & {
  readonly isOnPlan: boolean;
  /** `null`: not known yet. */
  readonly request: ReservationRequest | null;
};

/**
 * One thing that limits what an account, its plan or its key may use. Each is a file of this folder, a line in `all.ts`, and
 * its columns. It is asked of calls that it applies to. Its functions are pure but for the state that they are given, which they change.
 */
export interface Limit {
  /** Of a plan: brings what it counts up to the present, as a window that moves on. Once for each batch. */
  advance?(plan: ActivePlan, context: AdmissionContext): void;
  /** Why there is no room for a call now; `null` if there is. Changes nothing. */
  refuse(call: AskingCall, account: AccountState, context: AdmissionContext): Refusal | null;
  /** Takes what an admitted call may use, and sets in its reservation what its end needs. */
  take?(request: ReservationRequest, account: AccountState, reservation: Reservation, context: AdmissionContext): void;
  /** Of a window of calls: what is used of it, as clients are told; `null` if that is not known. */
  window?(plan: ActivePlan, context: AdmissionContext): PlanWindow | null;
  /** The call has ended: gives back what it reserved, and counts what it used, in the periods that run. */
  free?(reservation: ReservedLimits, use: CallUse, account: AccountState, periods: RunningPeriods): void;
}
