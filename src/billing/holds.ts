import type { UsageFacts } from '../metering/usage-facts.ts';
import type { UsageExcess } from '../pricing/bounds.ts';
import type { PriceInForce, PriceRule } from '../pricing/price.ts';

/** A request to set money aside for a call. */
export interface Hold {
  readonly accountId: string;
  readonly callId: string;
  readonly amountNano: bigint;
  readonly keyId: string;
  readonly model: string;
  readonly heldAtMs: number;
  /** Made by `factsText`. */
  readonly facts: string;
}

/**
 * What is known of a call when it is admitted, beside its hold: kept for the case that nobody lives to see its end. The
 * route is the first one that the call may go over.
 */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** As the call's own end would record it: by it a late end finds the record that was made in its place. */
  readonly startedAtMs: number;
}

/** In the order in which they are kept, without names, since each byte shows in an admission. New ones go to the end. */
const KEPT_FACTS = [
  ['context', 'string'],
  ['operation', 'string'],
  ['provider', 'string'],
  ['providerModel', 'string'],
  ['isStream', 'boolean'],
  ['requestId', 'string'],
  ['priceRule', 'string'],
  ['startedAtMs', 'number'],
] as const satisfies readonly (readonly [keyof CallFacts, string])[];

/** As it is kept: text that nobody parses while the call runs. */
export function factsText(facts: CallFacts): string {
  return JSON.stringify(KEPT_FACTS.map(([name]) => facts[name]));
}

/** What of it is readable: a hold may have been made by another version of this program, or by one that kept no facts. */
export function readFacts(text: string): Partial<CallFacts> {
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    return {};
  }
  if (!Array.isArray(kept)) return {};
  const known = KEPT_FACTS.map(([name, type], i) => [name, kept[i], type] as const);
  return Object.fromEntries(known.filter(([, value, type]) => typeof value === type));
}

/** A call that nobody lives to end, as it is found by what it holds. */
export interface UnresolvedCall {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly model: string;
  readonly heldAt: Date;
  /** As it was given at admission. */
  readonly facts: string;
}

/** A hold whose node is dead. */
export interface DeadHold extends UnresolvedCall {
  readonly amountNano: bigint;
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
  /** `null` releases the hold; an amount, zero included, settles it and makes a ledger entry. */
  readonly chargeNano: bigint | null;
}
