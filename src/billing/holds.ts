import type { UsageFacts } from '../metering/usage-facts.ts';
import type { PriceInForce } from '../pricing/price.ts';

/** A request to set money aside for a call. */
export interface Hold {
  readonly accountId: string;
  readonly callId: string;
  readonly amountNano: bigint;
  readonly keyId: string;
  readonly model: string;
  readonly heldAtMs: number;
}

/** What admission answers, in order of precedence. */
export type AdmissionVerdict = 'admitted' | 'unknown_account' | 'insufficient_balance' | 'daily_limit_exceeded';

export interface Admission {
  readonly verdict: AdmissionVerdict;
  /** The balance less everything that is held, this call's hold included; `null` where it was not admitted. */
  readonly availableNano: bigint | null;
}

/** What the end of a call left. */
export interface EndedCall {
  /** The balance less everything that is still held; `null` where the end changed nothing. */
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
 * - `unresolved`: the node died; nobody knows.
 */
export type CallStatus = 'succeeded' | 'failed' | 'aborted' | 'unresolved';

/**
 * Whether the success of a call had begun: one that broke off later counts, one of which nothing but an error came does
 * not. It is what is charged, too.
 */
export function hasBegun({ status, usage }: Pick<CallOutcome, 'status' | 'usage'>): boolean {
  return status === 'succeeded' || (status === 'aborted' && usage !== null);
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
  readonly price: PriceInForce;
  /** `null` releases the hold; an amount, zero included, settles it and makes a ledger entry. */
  readonly chargeNano: bigint | null;
}
