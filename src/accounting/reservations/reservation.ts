import type { ErrorKind } from '../../errors/catalogue.ts';
import type { PlanWindow } from '../../protocols/plan-windows.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { BudgetIds } from '../accounts/budget-ids.ts';
import type { PriceRule } from '../pricing/price.ts';
import type { RateMaxima } from './rate-defaults.ts';
import type { LimitNotes, Reservation } from './tables.ts';

/** More than any balance. Prevents overflows of sums in SQL, for example after a request for 10^15 tokens. */
export const RESERVED_NANO_MAX = 1_000_000_000_000_000n;

/** Limits of a group's accounts that have none of their own. They replace those of the configuration; `null`: they do not. */
export interface GroupLimits extends RateMaxima {
  readonly dailyCapNano: bigint | null;
}

/** Plain values, because a request can be copied to another thread. */
export interface ReservationRequest {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly model: string;
  /** Limits per minute might be stored under one of these ids. */
  readonly modelAliases: readonly string[];
  readonly isKeyLimited: boolean;
  /** The member who owns the key, if the member has limits; otherwise `null`. */
  readonly memberId: string | null;
  /** `null`: no budgets for the model, or the call is on a plan. */
  readonly budgetIds: BudgetIds | null;
  readonly isRateLimited: boolean;
  /** `null`: the account is in no group, or its group has no limits. */
  readonly groupLimits: GroupLimits | null;
  /** The price factor of the account's group. It applies if the account has none of its own. */
  readonly groupFactorBasisPoints: number;
  /** Maximum number of tokens, across all models that the call uses. */
  readonly tokens: number;
  /** Maximum cost at list prices; `null` on a plan. */
  readonly amountNano: bigint | null;
  /**
   * The prices on each side of a switch of prices, in the order of their instants (the first one is `-Infinity`), if a switch is near; otherwise
   * `null`. The clock of the database selects the side.
   */
  readonly sides: readonly RequestSide[] | null;
  /** `null` for a call on the balance. */
  readonly plan: PlanRequest | null;
  readonly facts: string;
}

/** What replaces the amount and the factor of a request from an instant on. */
interface RequestSide {
  readonly fromMs: number;
  readonly amountNano: bigint;
  readonly groupFactorBasisPoints: number;
}

interface PlanRequest {
  readonly inputBytes: number;
  /** The limit in the request; 0: the request contains none. */
  readonly outputTokensRequested: number;
  readonly tokens: number;
  /** Canonical ids of other models that the call might use. */
  readonly innerModels: readonly string[];
}

export interface ReservedLimits extends CallName, LimitNotes {
  readonly keyId: string;
  readonly model: string;
  /** Whether the slot in the five-hour window still exists. Expired slots are deleted. */
  readonly hasSlot: boolean;
}

export interface OpenReservation extends Reservation, ReservedLimits {}

export interface CallUse {
  /** Whether the call counts in windows and in numbers of calls. If not, its slot is given back. */
  readonly counts: boolean;
  /** Input and output tokens, including cached ones; 0 if the call does not count. */
  readonly tokens: number;
  readonly keyChargeNano: bigint;
  /** All tokens, whether or not the call counts; 0: unknown. */
  readonly rateTokens: number;
}

export interface Refusal {
  readonly kind: ErrorKind;
  /** Time at which the limit would admit the same call. `soon`: when calls in flight have ended. `null`: waiting does not help. */
  readonly retryAt: number | 'soon' | null;
  /** The endpoint determines whether the status is 402 or 429. */
  readonly isPaymentRequired?: true;
  readonly param?: string;
  readonly windows?: readonly PlanWindow[];
  readonly rate?: ReachedRate;
  /** The model whose budget is used up. */
  readonly budgetModel?: string;
}

export interface ReachedRate {
  readonly of: 'requests' | 'tokens';
  readonly max: number;
  readonly isOfKey: boolean;
  /** `null`: the limit applies to all models together. */
  readonly model: string | null;
  readonly status: RateStatus;
}

/** Money that is not reserved, or calls of the plan; `null`: unknown. */
export type Remaining = { readonly availableNano: bigint } | RemainingCalls | null;

interface RemainingCalls {
  readonly calls: number;
  readonly windows: readonly PlanWindow[];
}

export interface ShownBudget {
  readonly isOfMember: boolean;
  /** Whether the budget is only for the called model. */
  readonly isOfModel: boolean;
  readonly period: 'day' | 'week' | 'month' | 'total';
  readonly capNano: bigint;
  readonly spentNano: bigint;
}

export interface Admitted {
  readonly isAdmitted: true;
  readonly remaining: Remaining;
  /** `null`: the call has no limits per minute. */
  readonly rates: RateStatus | null;
  /** The use of budgets by calls that have already ended. */
  readonly budgets: readonly ShownBudget[];
  /** The price factor has no effect on a plan. */
  readonly priceFactorBasisPoints: number;
  /** The index of the request's side whose prices were in force; 0 if no switch of prices is near. */
  readonly side: number;
}

export type Admission =
  | Admitted
  | {
      readonly isAdmitted: false;
      readonly refusal: Refusal;
      /** `null`: the account has no plan. */
      readonly planId: string | null;
    };

export interface CallName {
  readonly accountId: string;
  readonly callId: string;
}

export const CALL_NAME = ['accountId', 'callId'] as const satisfies readonly (keyof CallName)[];

/** A map key. The space separates the ids, which contain none. */
export const callKey = ({ accountId, callId }: CallName): string => `${accountId} ${callId}`;

/** Used for the record of the call if its node dies. The route is the first one that the call might take. */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** Must equal the start in the record that the call's own end writes: a late end finds the `unresolved` record by it. */
  readonly startedAtMs: number;
}

/** Stored in this order and without names, because each byte adds to the time of an admission. Append new members at the end. */
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

/** The text is parsed only if the node of the call dies. */
export function factsText(facts: CallFacts): string {
  const values: CallFacts[keyof CallFacts][] = [];
  for (const [name] of STORED_FACTS) values.push(facts[name]);
  return JSON.stringify(values);
}

/** Another gateway version might have stored the text during a rolling update, so some facts can be missing. */
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
