import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { RecordedCaller } from '../accounting/accounts/recording.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { Claim } from '../accounting/repeats/stored-responses.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { ClientTrace } from './call-trace.ts';
import type { Client } from './relay/client.ts';
import type { Settings } from './settings.ts';

/** A request with an authenticated credential and a checked body. */
export interface CallRequest {
  readonly policy: EndpointPolicy;
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  readonly input: CallInput;
  readonly requestId: string;
  readonly client: Client;
  readonly settings: Settings;
  readonly report: CallReport;
  /** Claim of an `Idempotency-Key`, which stores the response for repeated requests; `null`: the request has no such key. */
  claim: Claim | null;
  /** What is recorded of the caller; `null`: nothing. */
  readonly caller: RecordedCaller | null;
}

/** What pays for a call, determined by the endpoint (contract 1). */
export type Context = 'balance' | 'coding';

export interface EndpointPolicy {
  readonly context: Context;
  readonly operation: Operation;
  /** Status of a refusal for lack of money (contract 7). */
  readonly moneyStatus: 402 | 429;
}

/** A conversation whose calls prefer one route and credential. Calls without a choice of routes or credentials have none. */
export interface CallSession {
  /** Request field that names the session, such as `prompt_cache_key`. */
  readonly source: string;
  /** A hash of account, model and session name, because a caller can choose any name. */
  readonly key: string;
}

export interface CallReport extends ClientTrace {
  readonly clientRequestId: string | null;
  principal: Principal | null;
  isStream: boolean;
  /** The model name in the request. Its length is not limited. */
  modelAsked: string | null;
  model: string | null;
  callId: string | null;
  /** True once the call is admitted. Every admitted call gets a record when it ends. */
  isAdmitted: boolean;
  isRepeat: boolean;
  /** Set once the end of the call is stored durably. */
  outcome: CallOutcome | null;
  chunks: number;
}
