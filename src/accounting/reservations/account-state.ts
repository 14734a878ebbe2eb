import type { KeyCounts, KeyTerms } from '../accounts/key-limit-tables.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';
import type { BalanceRow, RateRow, SubscriptionRow } from './tables.ts';

/** Plain values, which can be copied to another thread. Decisions change the state in place; the changes are then written. */
export interface AccountState {
  readonly accountId: string;
  readonly money: MoneyState;
  readonly subscriptions: Map<string, SubscriptionState>;
  /** The active subscription, or else the last one that ended; `null` if no subscription has started. */
  currentSubscriptionId: string | null;
  /** Set by `advanceAll`; `null` if the account has no plan, the plan has ended, or it is no longer offered. */
  activePlan: ActivePlan | null;
  readonly keys: Map<string, KeyState>;
  /** Only the limits that the batch needs, by `rateName`. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends BalanceRow {}

export interface SubscriptionState extends SubscriptionRow {
  /** The oldest slots of the window, limited to the number that the batch can use, followed by slots in the future. */
  readonly oldestSlots: Slot[];
  /** Maximum number of slots read of each kind, oldest and future. If fewer were read, no others exist. */
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
  /** Limits that are only in the configuration have no row until the first call creates it. */
  readonly isStored: boolean;
}

/** A key that is unique in an account. The space separates the ids, which contain none. */
export const rateName = ({ keyId, model }: Pick<RateState, 'keyId' | 'model'>): string => `${keyId} ${model}`;

export interface AdmissionTerms {
  /** For tests: replaces the time of the database; `null` in production. */
  readonly nowMs: number | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  readonly rateDefaults: RateDefaults | null;
  contextAt(nowMs: number): AdmissionContext;
}

export interface AdmissionContext extends RunningPeriods {
  /** For accounts without a cap of their own; `null`: no cap. */
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
