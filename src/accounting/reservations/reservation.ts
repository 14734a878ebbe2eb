import type { ErrorKind } from '../../errors/catalogue.ts';
import type { PlanWindow } from '../../protocols/plan-windows.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { PriceRule } from '../pricing/price.ts';
import type { LimitNotes, Reservation } from './tables.ts';

/** More than any balance. Bounds reservations, so that a request for 10^15 tokens cannot overflow sums in SQL. */
export const RESERVED_NANO_MAX = 1_000_000_000_000_000n;

/** A call that requests admission. Plain values, so that it can be copied to another thread. */
export interface ReservationRequest {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  /** Canonical id. */
  readonly model: string;
  /** Its other names, one of which may have the limits per minute. */
  readonly modelAliases: readonly string[];
  readonly isKeyLimited: boolean;
  /** The member who owns the key, if the member has limits. */
  readonly memberId: string | null;
  readonly isRateLimited: boolean;
  /** Maximum tokens over all its models. */
  readonly tokens: number;
  /** Maximum cost at the list price of a call on the balance; `null` on a Coding Plan. */
  readonly amountNano: bigint | null;
  /** The demands of a call on its Coding Plan; `null` on the balance. */
  readonly plan: PlanRequest | null;
  readonly facts: string;
}

interface PlanRequest {
  /** The size of the decoded request. */
  readonly inputBytes: number;
  /** Maximum output tokens that the caller requests; 0 if it states no limit. */
  readonly outputTokensRequested: number;
  readonly tokens: number;
  /** Canonical ids of other models that the call may use. */
  readonly innerModels: readonly string[];
}

export interface ReservedLimits extends CallName, LimitNotes {
  readonly keyId: string;
  readonly model: string;
  /** Whether its slot of the five-hour window exists; an expired one is deleted. */
  readonly hasSlot: boolean;
}

export interface OpenReservation extends Reservation, ReservedLimits {}

export interface CallUse {
  /** Whether the call counts in windows and numbers of calls; otherwise its slot is given back. */
  readonly counts: boolean;
  /** All input and output tokens, including cached ones; 0 if the call does not count. */
  readonly tokens: number;
  /** What counts as spending of the key and of the member. */
  readonly keyChargeNano: bigint;
  /** All tokens, whether or not the call counts; 0 if they are unknown. */
  readonly rateTokens: number;
}

export interface Refusal {
  readonly kind: ErrorKind;
  /** When the same call would be admitted: an instant; `soon`: when calls in flight end; `null`: never by waiting. */
  readonly retryAt: number | 'soon' | null;
  /** Whether the called address decides between the statuses 402 and 429. */
  readonly isPaymentRequired?: true;
  readonly param?: string;
  /** The windows of the plan, if one is used up. */
  readonly windows?: readonly PlanWindow[];
  readonly rate?: ReachedRate;
}

export interface ReachedRate {
  readonly of: 'requests' | 'tokens';
  readonly max: number;
  readonly isOfKey: boolean;
  /** `null`: all models. */
  readonly model: string | null;
  readonly status: RateStatus;
}

/** What remains for further calls of the account: unreserved money, or calls of its plan. `null`: unknown. */
export type Remaining = { readonly availableNano: bigint } | RemainingCalls | null;

interface RemainingCalls {
  /** The smallest remainder of all windows. */
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
  /** What remains of its limits per minute; `null` if it has none. */
  readonly rates: RateStatus | null;
  /** The use of the budgets of its key and its member by earlier calls. */
  readonly budgets: readonly ShownBudget[];
  /** The account's price factor for this call; meaningless on a plan, which charges nothing. */
  readonly priceFactorBasisPoints: number;
}

export type Admission =
  | Admitted
  | {
      readonly isAdmitted: false;
      readonly refusal: Refusal;
      /** The plan of the account; `null`: none at present. */
      readonly planId: string | null;
    };

export interface CallName {
  readonly accountId: string;
  readonly callId: string;
}

export const CALL_NAME = ['accountId', 'callId'] as const satisfies readonly (keyof CallName)[];

/** A call as a map key. Neither id contains a space. */
export const callKey = ({ accountId, callId }: CallName): string => `${accountId} ${callId}`;

/** Stored for the record of a call whose node dies. The route is the first one that the call may take. */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** The same as in the record of the call's own end: a late end finds the `unresolved` record by it. */
  readonly startedAtMs: number;
}

/** Stored in this order and without names, because each byte costs time in an admission. Append new ones at the end. */
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

/** Facts as stored text, which is parsed only if the node of the call dies. */
export function factsText(facts: CallFacts): string {
  const values: CallFacts[keyof CallFacts][] = [];
  for (const [name] of STORED_FACTS) values.push(facts[name]);
  return JSON.stringify(values);
}

/** The readable facts: in a rolling update, a node of another version may have stored others. */
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
