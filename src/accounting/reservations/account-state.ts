import type { KeyCounts, KeyTerms } from '../accounts/key-limit-tables.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';
import type { BalanceRow, RateRow, SubscriptionRow } from './tables.ts';

/**
 * What is used of all limits of an account, as in the rows of the database. Decisions change these values in place; what has
 * changed is written. They are plain values, so that they can be copied to another thread.
 */
export interface AccountState {
  readonly accountId: string;
  readonly money: MoneyState;
  /** Subscriptions that the batch needs, by id. */
  readonly subscriptions: Map<string, SubscriptionState>;
  /** The subscription that is active, or the one that ended last; `null` if none has begun. */
  currentSubscriptionId: string | null;
  /** Set by `advanceAll` from that: the plan that the account may use; `null` if it has none, it is over, or is not offered any more. */
  activePlan: ActivePlan | null;
  /** Keys with limits that the batch needs, and people with limits, by id. */
  readonly keys: Map<string, KeyState>;
  /** Limits by the minute that the batch needs, by `rateName`. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends BalanceRow {}

export interface SubscriptionState extends SubscriptionRow {
  /** The oldest slots of the window, in order: as many as the batch can make use of. Behind them those that lie ahead. */
  readonly oldestSlots: Slot[];
  /** How many of each were read at most: if there are fewer, there are no others. */
  oldestSlotsMax: number;
  readonly newSlots: Slot[];
  /** Calls whose slots are to be deleted. */
  readonly deletedSlots: string[];
}

export interface Slot {
  readonly callId: string;
  readonly takenAtMs: number;
}

export interface KeyState extends KeyTerms, KeyCounts {}

/** What an account or a key, for all models or for one, may use in a minute, and has used. */
export interface RateState extends RateRow {
  /** Whether there is a row of it. One that only the configuration limits is made by its first call. */
  readonly isStored: boolean;
}

/** A limit among those of an account. No id has a space. */
export const rateName = ({ keyId, model }: Pick<RateState, 'keyId' | 'model'>): string => `${keyId} ${model}`;

/** What an admission takes from its node; the instant comes from the database. */
export interface AdmissionTerms {
  /** For tests: an instant in place of the database's clock. In production `null`. */
  readonly nowMs: number | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  /** `null` if the configuration has none. */
  readonly rateDefaults: RateDefaults | null;
  contextAt(nowMs: number): AdmissionContext;
}

/** What decisions need besides the state: the instant, by the database's clock, and the configuration in force. */
export interface AdmissionContext extends RunningPeriods {
  /** The cap of accounts that have none of their own; `null` for no cap. */
  readonly defaultDailyCapNano: bigint | null;
  readonly rateDefaults: RateDefaults | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  readonly nodeId: string;
}

export interface ActivePlan {
  readonly terms: PlanTerms;
  readonly subscription: SubscriptionState;
}

export function activePlanAt(account: AccountState, { plans, nowMs }: AdmissionContext): ActivePlan | null {
  const subscription = currentSubscription(account);
  const terms = subscription && plans.get(subscription.planId);
  return subscription && terms && subscription.endsAtMs > nowMs ? { terms, subscription } : null;
}

export function currentSubscription({ currentSubscriptionId, subscriptions }: AccountState): SubscriptionState | null {
  return currentSubscriptionId === null ? null : (subscriptions.get(currentSubscriptionId) ?? null);
}
