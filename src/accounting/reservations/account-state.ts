import type { KeyCounts, KeyTerms } from '../accounts/key-limit-tables.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';
import type { BalanceRow, RateRow, SubscriptionRow } from './tables.ts';

/** State of an account. Decisions change it in place, and the changes are then written. Plain values, which can be copied to a thread. */
export interface AccountState {
  readonly accountId: string;
  readonly money: MoneyState;
  readonly subscriptions: Map<string, SubscriptionState>;
  /** The active subscription, or else the last one that ended; `null` if none has started yet. */
  currentSubscriptionId: string | null;
  /** The plan in force, set by `advanceAll`; `null` if the account has none, or its plan has ended or is no longer offered. */
  activePlan: ActivePlan | null;
  readonly keys: Map<string, KeyState>;
  /** Limits per minute by `rateName`; only those that the batch needs. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends BalanceRow {}

export interface SubscriptionState extends SubscriptionRow {
  /** The oldest slots of the window, as many as the batch can use, followed by slots in the future. */
  readonly oldestSlots: Slot[];
  /** How many oldest slots, and how many future ones, were read at most. If fewer were found, there are no others. */
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
  /** Whether the limits have a row. Limits that are only in the configuration get one from the first call. */
  readonly isStored: boolean;
}

/** Identifies a limit within its account. Ids contain no space, so the space separates them. */
export const rateName = ({ keyId, model }: Pick<RateState, 'keyId' | 'model'>): string => `${keyId} ${model}`;

export interface AdmissionTerms {
  /** For tests: replaces the time of the database; `null` in production. */
  readonly nowMs: number | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  readonly rateDefaults: RateDefaults | null;
  contextAt(nowMs: number): AdmissionContext;
}

export interface AdmissionContext extends RunningPeriods {
  /** Daily cap of accounts without one of their own; `null`: no cap. */
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
