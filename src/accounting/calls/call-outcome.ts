import type { ServiceTerms } from '../../protocols/metering/service-terms.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { UnitName } from '../../protocols/metering/usage-units.ts';
import type { UsageExcess } from '../pricing/bounds.ts';
import type { PriceInForce, PriceRule } from '../pricing/price.ts';

/** What remains for the account after the end of a call. */
export interface EndedCall {
  /** The balance less everything that is still reserved; `null` where there is no such account. */
  readonly availableNano: bigint | null;
}

/** A route of an attempt that failed, before the call was sent over another one. */
export interface FailedRoute {
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  /** The code of the error. */
  readonly error: string;
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
export type EndStatus = 'succeeded' | 'failed' | 'aborted';

/** What a call's record has beside its columns; absent where there is nothing. */
export interface CallNotes {
  /** What the provider reported beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** What was charged for models that the request named inside, by the provider's name. */
  readonly innerModels?: readonly InnerModelNote[];
  /** What chose the prices of its tokens, beside the price list. */
  readonly pricedBy?: PricedBy;
  /** The keys of prices that the price list lacks for what the call used. */
  readonly unpriced?: readonly string[];
  /** What was reserved, in nano-yuan, where the estimate of what was delivered costs more: the model states no limit of its output. */
  readonly reservedNano?: string;
  /** What a call on a plan had reserved of the token quota when its node died. */
  readonly reservedTokens?: ReservedTokens;
  /** How an operator resolved the call. */
  readonly resolution?: ResolutionNote;
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

/** With the price list and the usage it is all that the charge follows from. */
export interface PricedBy extends ServiceTerms {
  /** The step of the price list that has the prices of all tokens; absent: those of no step. */
  readonly above?: string;
  /** In place of `above`: the tokens by the step of their run, where the sum of the runs would have chosen another one. */
  readonly steps?: readonly PricedStep[];
  /** Images by their price, where a table has several. */
  readonly images?: readonly PricedImages[];
}

/** Counts that are not zero, by unit. */
export type NonzeroCounts = { readonly [Name in UnitName]?: number };

export interface PricedStep extends NonzeroCounts {
  /** Absent: the prices of no step. */
  readonly above?: string;
  readonly runs: number;
}

export interface PricedImages {
  readonly count: number;
  readonly priceNano: string;
}

/** Unit prices by name, in nano-yuan as text; tables of prices nested, `null` where the model is not charged that way. */
export interface RecordedPrices {
  readonly [name: string]: string | null | RecordedPrices;
}

/** What a call used of an inner model, and its charge, which is rounded for itself. Amounts are text in nano-yuan. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
  /** Absent in records of earlier versions, as the members below. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}

/** The end of a call: its record, and its charge where there is one. */
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
  /** The client's own id of its request. Absent in journals of earlier versions. */
  readonly clientRequestId?: string | null;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` where the usage is not known. */
  readonly usage: UsageFacts | null;
  /** Absent: nothing. */
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  /** What the account paid of the list price when the call was admitted. */
  readonly priceFactorBasisPoints: number;
  /** `null`: nothing is charged; an amount, zero included, makes a ledger entry. */
  readonly chargeNano: bigint | null;
  /** What the call cost the operator, by the cost of its route; `null`, or absent in earlier journals: not known. */
  readonly costNano?: bigint | null;
}
