import type { KeyCounts, KeyTerms } from '../accounts/key-limit-tables.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';
import type { BalanceRow, RateRow, SubscriptionRow } from './tables.ts';

/** Plain values, so that they can be copied to another thread. Decisions change them in place, and the changes are written. */
export interface AccountState {
  readonly accountId: string;
  readonly money: MoneyState;
  readonly subscriptions: Map<string, SubscriptionState>;
  /** The active subscription, or the one that ended last; `null` if none has begun. */
  currentSubscriptionId: string | null;
  /** Set by `advanceAll`: the plan that the account may use; `null` if it has none, it is over, or it is no longer offered. */
  activePlan: ActivePlan | null;
  readonly keys: Map<string, KeyState>;
  /** Limits per minute that the batch needs, by `rateName`. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends BalanceRow {}

export interface SubscriptionState extends SubscriptionRow {
  /** The oldest slots of the window, in order, as many as the batch can use. Slots that lie in the future follow them. */
  readonly oldestSlots: Slot[];
  /** Maximum of each kind that was read: if there are fewer, there are no others. */
  oldestSlotsMax: number;
  readonly newSlots: Slot[];
  readonly deletedSlots: string[];
}

export interface Slot {
  readonly callId: string;
  readonly takenAtMs: number;
}

export interface KeyState extends KeyTerms, KeyCounts {}

export interface RateState extends RateRow {
  /** Whether it has a row. The first call creates the row of a limit that only the configuration has. */
  readonly isStored: boolean;
}

/** Identifies a limit within its account. No id contains a space. */
export const rateName = ({ keyId, model }: Pick<RateState, 'keyId' | 'model'>): string => `${keyId} ${model}`;

/** The input of an admission from its node; the instant comes from the database. */
export interface AdmissionTerms {
  /** For tests: replaces the database's clock; `null` in production. */
  readonly nowMs: number | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  readonly rateDefaults: RateDefaults | null;
  contextAt(nowMs: number): AdmissionContext;
}

/** The input of a decision besides the state: the instant by the database's clock, and the configuration in force. */
export interface AdmissionContext extends RunningPeriods {
  /** The cap of accounts without their own; `null`: no cap. */
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
