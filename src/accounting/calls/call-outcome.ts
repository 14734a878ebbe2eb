import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { BudgetIds } from '../accounts/budget-ids.ts';
import type { ChargeNotes } from '../pricing/charge-notes.ts';
import type { PriceInForce } from '../pricing/price.ts';

export interface BalanceAfterEnd {
  /** The balance minus all holds; `null` if the account does not exist. */
  readonly availableNano: bigint | null;
}

export interface FailedRoute {
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  readonly error: string;
  /** Milliseconds from the start of the call to the failure; absent on records of earlier versions. */
  readonly afterMs?: number;
}

/**
 * - `succeeded`: the provider's response was complete.
 * - `failed`: no provider returned a success that can be charged.
 * - `aborted`: the client or the provider ended a successful response early.
 * - `unresolved`: the node died, so the outcome is unknown. A late end of the call, or an operator, replaces this status.
 * - `resolved`: an operator settled an unresolved call. This is final.
 */
export type CallStatus = EndStatus | 'unresolved' | 'resolved';

type EndStatus = 'succeeded' | 'failed' | 'aborted';

/** Facts of a call record that have no column of their own. */
export interface CallNotes extends ChargeNotes {
  /** Tokens that were reserved in a plan's quota when the call's node died. */
  readonly reservedTokens?: ReservedTokens;
  /** The person whose limits counted the call when its node died. */
  readonly memberId?: string;
  /** The budgets for the model that counted the call when its node died. */
  readonly budgetIds?: BudgetIds;
  readonly resolution?: ResolutionNote;
  readonly session?: SessionNote;
}

/** `source` identified the session. The route is the one that the session uses while all routes are healthy. */
export interface SessionNote {
  readonly source: string;
  readonly provider: string;
  readonly model: string;
}

export interface ReservedTokens {
  readonly subscriptionId: string;
  readonly periodNo: number;
  readonly tokens: number;
}

/** The charge of the resolution is in a column of the record. */
export interface ResolutionNote {
  readonly action: 'charge' | 'count' | 'release';
  /** Only for `count`: the tokens counted in the quota. */
  readonly tokens?: number;
  /** The name that the operator gave. */
  readonly by: string | null;
  readonly via: RequestedVia;
  readonly memo: string | null;
  /** ISO 8601. */
  readonly at: string;
}

/** How an operator was authenticated: by an admin token, by access to the machine, or by signing in. */
export type RequestedVia = 'admin_token' | 'command_line' | 'user';

export interface CallOutcome {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly context: string;
  readonly operation: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly failedRoutes: readonly FailedRoute[];
  readonly isStream: boolean;
  readonly status: EndStatus;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly requestId: string;
  /** `null`: the client sent none. */
  readonly clientRequestId: string | null;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` if unknown. */
  readonly usage: UsageFacts | null;
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  readonly priceFactorBasisPoints: number;
  /** `null`: no charge. Any amount, even zero, creates a ledger entry. */
  readonly chargeNano: bigint | null;
  /** At the cost prices of the route; `null`: unknown. */
  readonly costNano: bigint | null;
}

const REQUEST = 'req_';

/** The request id with another prefix: the gateway's request id finds the call, although its record contains the provider's. */
export function callIdOf(requestId: string): string {
  return `call_${requestId.startsWith(REQUEST) ? requestId.slice(REQUEST.length) : requestId}`;
}
