import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { ChargeNotes } from '../pricing/charge-notes.ts';
import type { PriceInForce } from '../pricing/price.ts';

export interface BalanceAfterEnd {
  /** The balance minus all reservations; `null` if the account does not exist. */
  readonly availableNano: bigint | null;
}

/** The route of a failed attempt, after which the call was retried on another route. */
export interface FailedRoute {
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  /** The error code. */
  readonly error: string;
  /** Milliseconds from the start of the call to the failure; absent on records of earlier versions. */
  readonly afterMs?: number;
}

/**
 * - `succeeded`: the provider's response was complete.
 * - `failed`: no provider returned a success, or none that can be charged.
 * - `aborted`: the client or the provider ended a successful response early.
 * - `unresolved`: the node died, so the outcome is unknown. This is the only status that is not final: a late end of the call, or an operator,
 *   replaces it.
 * - `resolved`: an operator settled an unresolved call. A late end of the call changes nothing.
 */
export type CallStatus = EndStatus | 'unresolved' | 'resolved';

/** The status of a call that its node ended. */
type EndStatus = 'succeeded' | 'failed' | 'aborted';

/** Facts of a call record that have no column of their own. */
export interface CallNotes extends ChargeNotes {
  /** Tokens that were reserved in a plan's quota when the call's node died. */
  readonly reservedTokens?: ReservedTokens;
  /** The person whose limits counted the call when its node died. */
  readonly memberId?: string;
  readonly resolution?: ResolutionNote;
  /** The session that determined the route of the call. */
  readonly session?: SessionNote;
}

/** What identified the session of a call, and the route that the session uses while all routes are healthy. */
export interface SessionNote {
  readonly source: string;
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
}

/** Tokens that a call reserved in one period of a subscription. */
export interface ReservedTokens {
  readonly subscriptionId: string;
  readonly periodNo: number;
  readonly tokens: number;
}

/** Who resolved a call, when, how and why. The charge is not in this note, but in a column of the record. */
export interface ResolutionNote {
  readonly action: 'charge' | 'count' | 'release';
  /** Only for `count`: the tokens that were counted in the quota. */
  readonly tokens?: number;
  /** The name that the operator gave. */
  readonly by: string | null;
  readonly via: RequestedVia;
  readonly memo: string | null;
  /** The time of the resolution, in ISO 8601. */
  readonly at: string;
}

/** How an operator was authenticated: by an admin token, by access to the command line of a gateway's machine, or by signing in. */
export type RequestedVia = 'admin_token' | 'command_line' | 'user';

/** The end of a call: the facts of its record, and its charge. */
export interface CallOutcome {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly context: string;
  readonly operation: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The routes of failed earlier attempts, in order. */
  readonly failedRoutes: readonly FailedRoute[];
  readonly isStream: boolean;
  readonly status: EndStatus;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly requestId: string;
  /** The client's own request id; `null` if it sent none. */
  readonly clientRequestId: string | null;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` if unknown. */
  readonly usage: UsageFacts | null;
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  /** The price factor of the account at admission. */
  readonly priceFactorBasisPoints: number;
  /** `null`: no charge. Any amount, even zero, creates a ledger entry. */
  readonly chargeNano: bigint | null;
  /** The operator's cost, at the cost prices of the route; `null` if unknown. */
  readonly costNano: bigint | null;
}

const REQUEST = 'req_';

/**
 * The id of the call that a request creates: the request id with another prefix. So a call can be found by the gateway's request id, although its
 * record contains the provider's. A request creates at most one call.
 */
export function callIdOf(requestId: string): string {
  return `call_${requestId.startsWith(REQUEST) ? requestId.slice(REQUEST.length) : requestId}`;
}
