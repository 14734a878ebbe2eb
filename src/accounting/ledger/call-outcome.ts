import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { UsageExcess } from '../pricing/bounds.ts';
import type { PriceInForce } from '../pricing/price.ts';

/** What the end of a call left. */
export interface EndedCall {
  /** The balance less everything that is still reserved; `null` where there is no such account. */
  readonly availableNano: bigint | null;
}

/** A route that a call was sent over in vain, before another one took it. */
export interface FailedRoute {
  readonly provider: string;
  /** The provider's id of the model. */
  readonly model: string;
  /** The code of what went wrong. */
  readonly error: string;
}

/**
 * What became of a call:
 * - `succeeded`: the provider's answer reached its end.
 * - `failed`: no success was had from a provider, or none that can be billed.
 * - `aborted`: the client or the provider broke a success off midway.
 * - `unresolved`: the node died; nobody knows. It is the one status that is not final: the call's own end may come late.
 */
export type CallStatus = 'succeeded' | 'failed' | 'aborted' | 'unresolved';

/** What is kept with a call's record beside its columns, where there is something to say. */
export interface CallNotes {
  /** What its provider reported beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** What was charged for models that the request named inside, by the provider's name. */
  readonly innerModels?: readonly InnerModelNote[];
}

/** Amounts are text in nano-yuan. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
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
  readonly status: CallStatus;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly requestId: string;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly endedAtMs: number;
  /** `null` where nothing is known of what was used. */
  readonly usage: UsageFacts | null;
  /** Absent: nothing. */
  readonly notes?: CallNotes | undefined;
  readonly price: PriceInForce;
  /** `null`: nothing is charged; an amount, zero included, makes a ledger entry. */
  readonly chargeNano: bigint | null;
}
