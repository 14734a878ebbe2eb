import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { Claim } from '../accounting/repeats/stored-responses.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { ClientTrace } from './call-trace.ts';
import type { Client } from './relay/client.ts';
import type { Settings } from './settings.ts';

/** A request whose credential is known and whose body is received and checked. */
export interface CallRequest {
  readonly policy: EndpointPolicy;
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  readonly input: CallInput;
  readonly requestId: string;
  readonly client: Client;
  /** The configuration in force when the call began. */
  readonly settings: Settings;
  /** What the call notes of itself. */
  readonly report: CallReport;
  /** The claim of an idempotent call, which stores its response for repeats; `null`: it is none. */
  claim: Claim | null;
}

/** What pays for a call. The address decides, and a call never switches (contract 1). */
export type Context = 'balance' | 'coding';

/** What an endpoint sets for its calls. */
export interface EndpointPolicy {
  readonly context: Context;
  readonly operation: Operation;
  /** The status of a refusal for lack of money (contract 7). */
  readonly moneyStatus: 402 | 429;
}

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
