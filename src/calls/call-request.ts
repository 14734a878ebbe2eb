import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { Claim } from '../accounting/repeats/stored-responses.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { ClientTrace } from './call-trace.ts';
import type { Client } from './relay/client.ts';
import type { Settings } from './settings.ts';

/** A request with a known credential, whose body was received and checked. */
export interface CallRequest {
  readonly policy: EndpointPolicy;
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  readonly input: CallInput;
  readonly requestId: string;
  readonly client: Client;
  /** The configuration in force when the call began. */
  readonly settings: Settings;
  readonly report: CallReport;
  /** The claim of an idempotent call, which stores its response for repeats; `null`: the call is not idempotent. */
  claim: Claim | null;
}

/** What pays for a call. The address of the endpoint determines it, and it does not change during the call (contract 1). */
export type Context = 'balance' | 'coding';

export interface EndpointPolicy {
  readonly context: Context;
  readonly operation: Operation;
  /** HTTP status of a refusal for lack of money (contract 7). */
  readonly moneyStatus: 402 | 429;
}

/** The session of a call, if it affects the choice of routes or credentials. */
export interface CallSession {
  /** The request field that named the session, such as `prompt_cache_key`. */
  readonly source: string;
  /** A hash of account, model and session, because the name of the session may be any text of the caller. */
  readonly key: string;
}

/** The facts that a call adds to the report of its request as soon as they are known. */
export interface CallReport extends ClientTrace {
  readonly clientRequestId: string | null;
  principal: Principal | null;
  isStream: boolean;
  /** The model as the request names it, of any length; `null`: the request names none. */
  modelAsked: string | null;
  model: string | null;
  callId: string | null;
  /** Whether the call was admitted. If so, a call record is written when it ends. */
  isAdmitted: boolean;
  /** Whether the response is the stored one of an earlier call with the same `Idempotency-Key`. */
  isRepeat: boolean;
  /** The end of the call, once it is durable; `null`: there was no call, or its end could not be made durable. */
  outcome: CallOutcome | null;
  chunks: number;
}
