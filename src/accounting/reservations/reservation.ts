import type { ErrorKind } from '../../errors/catalogue.ts';
import type { PlanWindow } from '../../protocols/plan-windows.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { PriceRule } from '../pricing/price.ts';
import type { LimitNotes, Reservation } from './tables.ts';

/**
 * Maximum reserved amount in nano-yuan, more than any balance. It prevents overflows of sums in SQL, for example after a request for 10^15
 * tokens.
 */
export const RESERVED_NANO_MAX = 1_000_000_000_000_000n;

/** A call that requests admission. It consists of plain values, so that it can be copied to another thread. */
export interface ReservationRequest {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  /** Canonical model id. */
  readonly model: string;
  /** Other ids of the model. Limits per minute might be stored under one of them. */
  readonly modelAliases: readonly string[];
  readonly isKeyLimited: boolean;
  /** The member who owns the key, if the member has limits; otherwise `null`. */
  readonly memberId: string | null;
  readonly isRateLimited: boolean;
  /** Maximum number of tokens of the call, across all models that it uses. */
  readonly tokens: number;
  /** Maximum cost at list prices of a call on the balance, in nano-yuan; `null` on a Coding Plan. */
  readonly amountNano: bigint | null;
  /**
   * The maximum cost on each side of a switch of prices, in the order of their instants (the first one is `-Infinity`), if a switch is near; otherwise
   * `null`. The clock of the database selects the side.
   */
  readonly sides: readonly { readonly fromMs: number; readonly amountNano: bigint }[] | null;
  /** What the call requires of its Coding Plan; `null` for a call on the balance. */
  readonly plan: PlanRequest | null;
  readonly facts: string;
}

interface PlanRequest {
  /** Size of the decoded request. */
  readonly inputBytes: number;
  /** Maximum number of output tokens that the caller requests; 0 if the request contains no limit. */
  readonly outputTokensRequested: number;
  readonly tokens: number;
  /** Canonical ids of other models that the call might use. */
  readonly innerModels: readonly string[];
}

export interface ReservedLimits extends CallName, LimitNotes {
  readonly keyId: string;
  readonly model: string;
  /** Whether the slot of the call in the five-hour window still exists. Expired slots are deleted. */
  readonly hasSlot: boolean;
}

export interface OpenReservation extends Reservation, ReservedLimits {}

export interface CallUse {
  /** Whether the call counts in windows and in numbers of calls. If not, its slot is given back. */
  readonly counts: boolean;
  /** Number of input and output tokens, including cached ones; 0 if the call does not count. */
  readonly tokens: number;
  /** The amount that counts as spending of the key and of the member. */
  readonly keyChargeNano: bigint;
  /** Number of all tokens, whether or not the call counts; 0 if it is unknown. */
  readonly rateTokens: number;
}

export interface Refusal {
  readonly kind: ErrorKind;
  /** When the same call would be admitted: at an instant; `soon`, when calls in flight have ended; or `null`, if waiting does not help. */
  readonly retryAt: number | 'soon' | null;
  /** Present if the endpoint determines whether the status is 402 or 429. */
  readonly isPaymentRequired?: true;
  readonly param?: string;
  /** The windows of the plan. Present if one of them is exhausted. */
  readonly windows?: readonly PlanWindow[];
  readonly rate?: ReachedRate;
}

export interface ReachedRate {
  readonly of: 'requests' | 'tokens';
  readonly max: number;
  readonly isOfKey: boolean;
  /** `null`: the limit applies to all models together. */
  readonly model: string | null;
  readonly status: RateStatus;
}

/** What remains for further calls of the account: money that is not reserved, or calls of its plan; `null`: unknown. */
export type Remaining = { readonly availableNano: bigint } | RemainingCalls | null;

interface RemainingCalls {
  /** The smallest remainder of all windows, in calls. */
  readonly calls: number;
  readonly windows: readonly PlanWindow[];
}

/** A budget of a key or its member, as shown to clients. */
export interface ShownBudget {
  readonly isOfMember: boolean;
  readonly period: 'day' | 'week' | 'month' | 'total';
  readonly capNano: bigint;
  readonly spentNano: bigint;
}

export interface Admitted {
  readonly isAdmitted: true;
  readonly remaining: Remaining;
  /** Remainder of the limits per minute of the call; `null` if it has none. */
  readonly rates: RateStatus | null;
  /** The use of the budgets of the call's key and member, by calls that have already ended. */
  readonly budgets: readonly ShownBudget[];
  /** The account's price factor for this call. It has no effect on a plan, where calls are not charged. */
  readonly priceFactorBasisPoints: number;
  /** The index of the request's side whose prices were in force; 0 if no switch of prices is near. */
  readonly side: number;
}

export type Admission =
  | Admitted
  | {
      readonly isAdmitted: false;
      readonly refusal: Refusal;
      /** The current plan of the account; `null` if it has none. */
      readonly planId: string | null;
    };

export interface CallName {
  readonly accountId: string;
  readonly callId: string;
}

export const CALL_NAME = ['accountId', 'callId'] as const satisfies readonly (keyof CallName)[];

/** Returns a call's ids as a map key. The space is a safe separator, because ids never contain one. */
export const callKey = ({ accountId, callId }: CallName): string => `${accountId} ${callId}`;

/**
 * Facts that are stored with the reservation and used for the record of the call if its node dies. The route is the first one that the call
 * might take.
 */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** Must equal the start time in the record that the call's own end writes. A late end finds the `unresolved` record by it. */
  readonly startedAtMs: number;
}

/** The stored facts, in this order and without names, because each byte adds to the time of an admission. Append new members at the end. */
const STORED_FACTS = [
  ['context', 'string'],
  ['operation', 'string'],
  ['provider', 'string'],
  ['providerModel', 'string'],
  ['isStream', 'boolean'],
  ['requestId', 'string'],
  ['priceRule', 'string'],
  ['startedAtMs', 'number'],
] as const satisfies readonly (readonly [keyof CallFacts, string])[];

/** Formats facts as stored text. The text is parsed only if the node of the call dies. */
export function factsText(facts: CallFacts): string {
  const values: CallFacts[keyof CallFacts][] = [];
  for (const [name] of STORED_FACTS) values.push(facts[name]);
  return JSON.stringify(values);
}

/** Parses stored facts. Some can be missing, because in a rolling update another gateway version might have stored them. */
export function readFacts(text: string): Partial<CallFacts> {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    return {};
  }
  if (!Array.isArray(values)) return {};
  const known = STORED_FACTS.map(([name, type], i) => [name, values[i], type] as const);
  return Object.fromEntries(known.filter(([, value, type]) => typeof value === type));
}
