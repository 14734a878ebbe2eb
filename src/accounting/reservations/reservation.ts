import type { ErrorKind } from '../../errors/catalogue.ts';
import type { PlanWindow } from '../../protocols/plan-windows.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { BudgetIds } from '../accounts/budget-ids.ts';
import type { CallerKind } from '../accounts/caller-budget-ids.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { PriceRule } from '../pricing/price.ts';
import type { RateMaxima } from './rate-defaults.ts';
import type { LimitNotes, Reservation } from './tables.ts';

/** Maximum amount of a reservation: more than any balance, but small enough for sums in SQL, even for a request of 10^15 tokens. */
export const RESERVED_NANO_MAX = 1_000_000_000_000_000n;

/** Limits of accounts in a group that have no limits of their own; `null`: those of the configuration apply. */
export interface GroupLimits extends RateMaxima {
  readonly dailyCapNano: bigint | null;
}

/** What a call asks to reserve. Plain values only, because it can be copied to another thread. */
export interface ReservationRequest {
  readonly accountId: string;
  readonly callId: string;
  readonly keyId: string;
  readonly model: string;
  /** Former ids of the model, under which its limits per minute may be stored. */
  readonly modelAliases: readonly string[];
  readonly isKeyLimited: boolean;
  /** The user who owns the key, if the account limits this member; otherwise `null`. */
  readonly memberId: string | null;
  /** `null`: no budgets for the model, the end user or the tags, or the call is on a plan. */
  readonly budgetIds: BudgetIds | null;
  readonly isRateLimited: boolean;
  /** Limits of the account's group; `null`: no group, or a group without limits. */
  readonly groupLimits: GroupLimits | null;
  /** The price factor of the account's group. It applies if the account has none of its own. */
  readonly groupFactorBasisPoints: number;
  /** Maximum number of tokens, of all models that the call uses. */
  readonly tokens: number;
  /** Maximum cost at list prices; `null`: a call on a plan. */
  readonly amountNano: bigint | null;
  /**
   * If a price change is near: the prices before and after it, in the order of time (the first ones from `-Infinity`). The database's clock
   * selects among them. Otherwise `null`.
   */
  readonly sides: readonly RequestSide[] | null;
  /** What the call needs of a plan; `null`: it is paid from the balance. */
  readonly plan: PlanRequest | null;
  readonly facts: string;
}

/** The amount and price factor that apply from an instant on. */
interface RequestSide {
  readonly fromMs: number;
  readonly amountNano: bigint;
  readonly groupFactorBasisPoints: number;
}

interface PlanRequest {
  readonly inputBytes: number;
  /** Output limit in the request; 0: none. */
  readonly outputTokensRequested: number;
  readonly tokens: number;
  /** Canonical ids of other models that the call may use. */
  readonly innerModels: readonly string[];
}

export interface ReservedLimits extends CallName, LimitNotes {
  readonly keyId: string;
  readonly model: string;
  /** Whether the call still has its slot in the five-hour window. Expired slots are deleted. */
  readonly hasSlot: boolean;
}

export interface OpenReservation extends Reservation, ReservedLimits {}

export interface CallUse {
  /** Whether windows and call limits count the call. If not, its slot is freed. */
  readonly counts: boolean;
  /** Input and output tokens, including cached ones; 0 if the call does not count. */
  readonly tokens: number;
  readonly keyChargeNano: bigint;
  /** Tokens for limits per minute, also of calls that do not count; 0: unknown. */
  readonly rateTokens: number;
}

export interface Refusal {
  readonly kind: ErrorKind;
  /** When the limit would admit the same call. `soon`: once calls in flight have ended. `null`: waiting does not help. */
  readonly retryAt: number | 'soon' | null;
  /** Present if the reason is a lack of money. The endpoint determines whether the status is 402 or 429. */
  readonly isPaymentRequired?: true;
  readonly param?: string;
  readonly windows?: readonly PlanWindow[];
  readonly rate?: ReachedRate;
  /** The model whose budget is used up. */
  readonly budgetModel?: string;
  /** The end user or the tag whose budget is used up. */
  readonly budgetCaller?: RefusedCaller;
}

export interface RefusedCaller {
  readonly kind: CallerKind;
  readonly value: string;
  /** Whether the budget is shared with other values, because too many were new on this day. */
  readonly isShared: boolean;
}

export interface ReachedRate {
  readonly of: 'requests' | 'tokens';
  readonly max: number;
  readonly isOfKey: boolean;
  /** The model that the limit is for; `null`: all models together. */
  readonly model: string | null;
  readonly status: RateStatus;
}

/** What remains: money that is not reserved, or calls of the plan; `null`: unknown. */
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
  /** What remains of limits per minute; `null`: there are none. */
  readonly rates: RateStatus | null;
  /** Use of budgets by calls that have ended. */
  readonly budgets: readonly ShownBudget[];
  /** Price factor that was applied. It has no effect on a plan. */
  readonly priceFactorBasisPoints: number;
  /** Index in the request's `sides` of the prices that were in force; 0 if no price change is near. */
  readonly side: number;
  /** The plan that pays for the call; absent: the balance does. */
  readonly planId?: string;
}

export type Admission =
  | Admitted
  | {
      readonly isAdmitted: false;
      readonly refusal: Refusal;
      /** Plan of the account; `null`: none. */
      readonly planId: string | null;
    };

export interface CallName {
  readonly accountId: string;
  readonly callId: string;
}

export const CALL_NAME = ['accountId', 'callId'] as const satisfies readonly (keyof CallName)[];

/** Identifies a call, for use as a map key. Ids contain no space, so the space separates them. */
export const callKey = ({ accountId, callId }: CallName): string => `${accountId} ${callId}`;

/** Facts for the call's record if its node dies. The route is the first one that the call would try. */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** Start of the call. It must equal the start that the call's own end records: a late end uses it to find the `unresolved` record. */
  readonly startedAtMs: number;
  /** The group of the account; absent or `null`: none. */
  readonly groupId?: string | null;
  /** Who made the call; absent or `null`: nothing is recorded. */
  readonly caller?: RecordedCaller | null;
}

/** Facts in the order in which they are stored, without names: every byte makes admissions slower. Append new members at the end. */
const STORED_FACTS = [
  ['context', 'string'],
  ['operation', 'string'],
  ['provider', 'string'],
  ['providerModel', 'string'],
  ['isStream', 'boolean'],
  ['requestId', 'string'],
  ['priceRule', 'string'],
  ['startedAtMs', 'number'],
  ['groupId', 'string'],
  ['caller', 'object'],
] as const satisfies readonly (readonly [keyof CallFacts, string])[];

/** Index of the caller among the stored facts. */
export const CALLER_FACT = STORED_FACTS.findIndex(([name]) => name === 'caller');

/** Facts as text. It is parsed only if the node of the call dies. */
export function factsText(facts: CallFacts): string {
  const values: unknown[] = [];
  let missing = 0;
  for (const [name] of STORED_FACTS) {
    const value = facts[name];
    // Each value has the index of its fact. Missing ones at the end are omitted.
    if (value === undefined || value === null) missing++;
    else {
      for (; missing > 0; missing--) values.push(null);
      values.push(value);
    }
  }
  return JSON.stringify(values);
}

/** Parses facts. During a rolling update, another gateway version may have stored them, so some can be missing. */
export function readFacts(text: string): Partial<CallFacts> {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    return {};
  }
  if (!Array.isArray(values)) return {};
  const known = STORED_FACTS.map(([name, type], i) => [name, values[i], type] as const);
  return Object.fromEntries(known.filter(([, value, type]) => value !== null && typeof value === type));
}
