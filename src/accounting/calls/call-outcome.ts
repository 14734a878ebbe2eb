import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { ChargeNotes } from '../pricing/charge-notes.ts';
import type { PriceInForce } from '../pricing/price.ts';

/** What remains for the account after the end of a call. */
export interface BalanceAfterEnd {
  /** The balance less everything that is still reserved; `null` if there is no such account. */
  readonly availableNano: bigint | null;
}

/** A route of an attempt that failed, before the call was sent over another one. */
export interface FailedRoute {
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  /** The code of the error. */
  readonly error: string;
  /** When it failed, in milliseconds from the start of the call; absent on records of earlier versions. */
  readonly afterMs?: number;
}

/**
 * What became of a call:
 * - `succeeded`: the provider's response reached its end.
 * - `failed`: no provider returned a success, or none that can be charged.
 * - `aborted`: the client or the provider ended a success before it was complete.
 * - `unresolved`: the node died; the outcome is unknown. The one status that is not final: the call's own end may come late,
 *   or an operator resolves it.
 * - `resolved`: an operator settled an unresolved call by hand. Its own end, should it still come, changes nothing.
 */
export type CallStatus = EndStatus | 'unresolved' | 'resolved';

/** How a call ends by itself. */
type EndStatus = 'succeeded' | 'failed' | 'aborted';

/** What a call's record has beside its columns; absent if there is nothing. */
export interface CallNotes extends ChargeNotes {
  /** What a call on a plan had reserved of the token quota when its node died. */
  readonly reservedTokens?: ReservedTokens;
  /** The person whose limits had counted the call when its node died. */
  readonly memberId?: string;
  /** How an operator resolved the call. */
  readonly resolution?: ResolutionNote;
  /** The session by which its route was chosen. */
  readonly session?: SessionNote;
}

/** What named the session of a call, and the route that the session has while all routes are healthy. */
export interface SessionNote {
  readonly source: string;
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
}

/** Tokens of a subscription, in one of its periods. */
export interface ReservedTokens {
  readonly subscriptionId: string;
  readonly periodNo: number;
  readonly tokens: number;
}

/** Who resolved a call, when, how and why; the charge is that of the record. */
export interface ResolutionNote {
  readonly action: 'charge' | 'count' | 'release';
  /** Of `count`: what was counted in the token quota. */
  readonly tokens?: number;
  /** As the operator named himself. */
  readonly by: string | null;
  readonly via: RequestedVia;
  readonly memo: string | null;
  /** In ISO 8601. */
  readonly at: string;
}

/** The way of a request of an operator: with an admin token, by the command line of a gateway's machine, or signed in. */
export type RequestedVia = 'admin_token' | 'command_line' | 'user';

/** The end of a call: its record, and its charge if there is one. */
export interface CallOutcome {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly context: string;
  readonly operation: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The routes that were tried before, in order. */
  readonly failedRoutes: readonly FailedRoute[];
  readonly isStream: boolean;
  readonly status: EndStatus;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly requestId: string;
  /** The client's own id of its request; `null`: it did not say. */
  readonly clientRequestId: string | null;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` if the usage is not known. */
  readonly usage: UsageFacts | null;
  /** Absent: nothing. */
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  /** What the account paid of the list price when the call was admitted. */
  readonly priceFactorBasisPoints: number;
  /** `null`: nothing is charged; an amount, zero included, makes a ledger entry. */
  readonly chargeNano: bigint | null;
  /** What the call cost the operator, by the cost of its route; `null`: not known. */
  readonly costNano: bigint | null;
}

const REQUEST = 'req_';

/**
 * The id of the call that a request makes: the same id with another prefix, so that a call is found by the request id of the
 * gateway, although its record has that of the provider. A request makes one call at most.
 */
export function callIdOf(requestId: string): string {
  return `call_${requestId.startsWith(REQUEST) ? requestId.slice(REQUEST.length) : requestId}`;
}
