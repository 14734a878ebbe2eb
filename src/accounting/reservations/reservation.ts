import type { ErrorKind } from '../../errors/catalogue.ts';
import type { PlanWindow } from '../../protocols/plan-windows.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { PriceRule } from '../pricing/price.ts';
import type { LimitNotes, Reservation } from './tables.ts';

/** More than any balance. Reservations stop here, so that a request for 10^15 tokens cannot overflow sums in SQL. */
export const RESERVED_NANO_MAX = 1_000_000_000_000_000n;

/** A call that asks to be admitted. Plain values, so that it can be copied to another thread. */
export interface ReservationRequest {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  /** The canonical id. */
  readonly model: string;
  /** Its other names, under one of which it may have got its limits by the minute. */
  readonly modelAliases: readonly string[];
  /** Whether the key has limits of its own. */
  readonly isKeyLimited: boolean;
  /** The person whose key it is, if that person has limits. */
  readonly memberId: string | null;
  /** Whether its account or its key has limits by the minute of its own. */
  readonly isRateLimited: boolean;
  /** The most tokens that it may use, of all its models. */
  readonly tokens: number;
  /** What a call on the balance may cost at the list price; `null` on a Coding Plan. */
  readonly amountNano: bigint | null;
  /** What a call on a Coding Plan asks of it; `null` on the balance. */
  readonly plan: PlanRequest | null;
  /** Made by `factsText`. */
  readonly facts: string;
}

interface PlanRequest {
  /** The size of the request, decoded. */
  readonly inputBytes: number;
  /** The most output tokens that the caller asks for; 0 where it states no limit. */
  readonly outputTokensRequested: number;
  /** What the call may use of the token quota. */
  readonly tokens: number;
  /** Other models that the call may use, by their canonical ids. */
  readonly innerModels: readonly string[];
}

/** What the end of a call needs of its reservation. */
export interface ReservedLimits extends CallName, LimitNotes {
  readonly keyId: string;
  readonly model: string;
  /** Whether its slot of the five-hour window is still there: it is not once the window has passed over it. */
  readonly hasSlot: boolean;
}

/** The whole reservation of a call in flight. */
export interface OpenReservation extends Reservation, ReservedLimits {}

/** What a call has used of its limits, known at its end. */
export interface CallUse {
  /** Whether the call counts in windows and numbers of calls; else its place is given back. */
  readonly counts: boolean;
  /** All tokens of input and output, cached ones included; 0 if the call does not count. */
  readonly tokens: number;
  /** What counts as spending of the key, and of the person. */
  readonly keyChargeNano: bigint;
  /** All tokens, whether or not the call counts; 0 if they are not known. */
  readonly rateTokens: number;
}

/** Why a call is refused. */
export interface Refusal {
  readonly kind: ErrorKind;
  /** When the same call would be admitted: an instant, `soon` (when calls in flight end), or `null`: not by waiting. */
  readonly retryAt: number | 'soon' | null;
  /** Whether the address that was called decides between the statuses 402 and 429. */
  readonly isPaymentRequired?: true;
  /** The field of the request that is at fault. */
  readonly param?: string;
  /** The windows of the plan, if one of them is used up. */
  readonly windows?: readonly PlanWindow[];
  /** The limit by the minute that is reached. */
  readonly rate?: ReachedRate;
}

/** A limit by the minute that has no room for a call. */
export interface ReachedRate {
  readonly of: 'requests' | 'tokens';
  readonly max: number;
  readonly isOfKey: boolean;
  /** `null`: of all models. */
  readonly model: string | null;
  readonly status: RateStatus;
}

/** What remains for further calls of the account: money that is not reserved, or calls of its plan. `null`: not known. */
export type Remaining = { readonly availableNano: bigint } | RemainingCalls | null;

interface RemainingCalls {
  /** The least of what remains of all windows. */
  readonly calls: number;
  readonly windows: readonly PlanWindow[];
}

/** A budget of a key, or of the person whose key it is, as clients are told of it. */
export interface ShownBudget {
  readonly isOfMember: boolean;
  readonly period: 'day' | 'week' | 'month' | 'total';
  readonly capNano: bigint;
  readonly spentNano: bigint;
}

/** An admitted call: its reservation is made. */
export interface Admitted {
  readonly isAdmitted: true;
  readonly remaining: Remaining;
  /** What is left of its limits by the minute; `null` if it has none. */
  readonly rates: RateStatus | null;
  /** What calls before it have used of the budgets of its key, and of the person whose key it is. */
  readonly budgets: readonly ShownBudget[];
  /** What the account pays of the list price for this call; on a plan, which charges nothing, it has no meaning. */
  readonly priceFactorBasisPoints: number;
}

export type Admission =
  | Admitted
  | {
      readonly isAdmitted: false;
      readonly refusal: Refusal;
      /** The plan of the account; `null` if it has none at the moment. */
      readonly planId: string | null;
    };

/** A call by its account. */
export interface CallName {
  readonly accountId: string;
  readonly callId: string;
}

/** The fields that name a call. */
export const CALL_NAME = ['accountId', 'callId'] as const satisfies readonly (keyof CallName)[];

/** A call as the key of a map. Neither id has a space. */
export const callKey = ({ accountId, callId }: CallName): string => `${accountId} ${callId}`;

/**
 * What is known of a call when it is admitted, beside what it reserves: stored for the record of a call whose node dies. The
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
  /** As the call's own end records it: by it a late end finds the record that was made as `unresolved`. */
  readonly startedAtMs: number;
}

/** In the order in which they are stored, without names, since each byte costs time in an admission. New ones go to the end. */
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

/** The facts as they are stored: text that is parsed only where the node of the call dies. */
export function factsText(facts: CallFacts): string {
  const values: CallFacts[keyof CallFacts][] = [];
  for (const [name] of STORED_FACTS) values.push(facts[name]);
  return JSON.stringify(values);
}

/** The facts that can be read: in a rolling update, a node of another version may have made the reservation, with other facts. */
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
