import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { BudgetIds } from '../accounts/budget-ids.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { ChargeNotes } from '../pricing/charge-notes.ts';
import type { PriceInForce } from '../pricing/price.ts';

export interface BalanceAfterEnd {
  /** The balance minus all holds; `null` if the account does not exist. */
  readonly availableNano: bigint | null;
}

export interface FailedRoute {
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly error: string;
  /** Time from the start of the call to the failure; absent in records of earlier versions. */
  readonly afterMs?: number;
}

/**
 * Why an attempt failed:
 * - `connection`: there was no connection to the provider, so nothing was sent
 * - `queue`: no connection was free in time, or the client left while the call waited for one
 * - `refused`: the provider answered with an error
 * - `account`: the provider refused the operator's credential or account
 * - `timeout`: the provider did not respond in time, or stopped sending
 * - `interrupted`: the connection or the stream broke off
 * - `unusable`: the provider's success could not be read or billed
 */
export type AttemptFailure = 'connection' | 'queue' | 'refused' | 'account' | 'timeout' | 'interrupted' | 'unusable';

/** One request to a provider. Attempts are recorded only for calls with a failed one. */
export interface CallAttempt {
  /** Position among the attempts of the call, from 1. If there are many, those before the last one are left out. */
  readonly no: number;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** Name of the credential; absent if a new configuration had replaced it. */
  readonly credential?: string;
  /** Time from the start of the call to the start of the attempt. */
  readonly startedMs: number;
  readonly durationMs: number;
  /** Absent: the provider answered. */
  readonly failure?: AttemptFailure;
  /** Status of the provider's response; absent if there was none. */
  readonly status?: number;
  /** What the provider said, or the error of the connection; without secrets, at most 300 characters. */
  readonly words?: string;
  /** Whether status and words are only for operators. */
  readonly isPrivate?: true;
  /** Whether the attempt might have run although it failed, and another one followed. */
  readonly isLost?: true;
  /** What a lost attempt can have cost the operator; absent if the route has no cost prices. No account is charged for it. */
  readonly costAtMostNano?: string;
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
  /** Tokens of a plan's quota that the call had reserved when its node died. */
  readonly reservedTokens?: ReservedTokens;
  /** The member whose limits counted the call when its node died. */
  readonly memberId?: string;
  /** The budgets for the model, the end user and the tags that counted the call when its node died. */
  readonly budgetIds?: BudgetIds;
  readonly resolution?: ResolutionNote;
  readonly session?: SessionNote;
  /** The attempts of the call in order; absent unless one of them failed. */
  readonly attempts?: readonly CallAttempt[];
  readonly translation?: TranslationNote;
  readonly fallback?: FallbackNote;
  /** Identifies the credential, if its cost is limited (`NamedCredential.limited`). */
  readonly credential?: string;
}

/** The model that the client asked for (`asked`), and why another one served the call. */
export interface FallbackNote {
  readonly asked: string;
  readonly reason: string;
}

/** How the request was translated for the provider: names of members that were left out and added, never their values. */
export interface TranslationNote {
  /** The operation of the provider. */
  readonly to: string;
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
}

/** How the session of a call was found (`source`), and the route that its calls use while all routes are healthy. */
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

/** What an operator decided about an unresolved call. The charge is in a column of the record. */
export interface ResolutionNote {
  readonly action: 'charge' | 'count' | 'release';
  /** Tokens counted in the quota; only if the action is `count`. */
  readonly tokens?: number;
  /** Who resolved the call, as the operator stated; `null`: not stated. */
  readonly by: string | null;
  readonly via: RequestedVia;
  readonly memo: string | null;
  /** When the call was resolved, in ISO 8601. */
  readonly at: string;
}

/** How an operator was authenticated: by an admin token, by access to the machine, or by signing in. */
export type RequestedVia = 'admin_token' | 'command_line' | 'user';

export interface CallOutcome {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  /** The group of the account at admission; `null`: none. Absent from journal entries of earlier versions. */
  readonly groupId?: string | null;
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
  /** Request id that the client sent; `null`: none. */
  readonly clientRequestId: string | null;
  /** `null`: nothing is recorded. Absent from journal entries of earlier versions. */
  readonly caller?: RecordedCaller | null;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` if unknown. */
  readonly usage: UsageFacts | null;
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  readonly priceFactorBasisPoints: number;
  /** `null`: nothing was charged. Any amount, even zero, has a ledger entry. */
  readonly chargeNano: bigint | null;
  /** What the provider charges for the call, at the cost prices of the route; `null`: unknown. */
  readonly costNano: bigint | null;
}

const REQUEST = 'req_';
const CALL = 'call_';

/** Returns the call id for a request id of the gateway: the same with another prefix, so that either one finds the call. */
export function callIdOf(requestId: string): string {
  return `${CALL}${requestId.startsWith(REQUEST) ? requestId.slice(REQUEST.length) : requestId}`;
}

/** Returns the gateway's request id of a call. */
export function requestIdOf(callId: string): string {
  return `${REQUEST}${callId.slice(CALL.length)}`;
}
