import type { Principal } from '../accounting/accounts/principals.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { ClientTrace } from './call-trace.ts';

/** What a call notes in the report of its request, each as soon as it is known. */
export interface CallReport extends ClientTrace {
  /** The client's own id of its request. */
  readonly clientRequestId: string | null;
  principal: Principal | null;
  isStream: boolean;
  /** As the request names it, of any length; `null` if it names none. */
  modelAsked: string | null;
  /** The canonical id. */
  model: string | null;
  callId: string | null;
  /** Whether the call was admitted; from then on it has a call record, which is written when it ends. */
  isAdmitted: boolean;
  /** Whether the response is that of an earlier call with the same `Idempotency-Key`. */
  isRepeat: boolean;
  /** The end of the call, once it is durable; `null` if there was no call, or its end could not be made durable. */
  outcome: CallOutcome | null;
  /** How many pieces of the response were passed on. */
  chunks: number;
}
