import type { KeyCounts, KeyTerms } from '../accounts/key-limit-tables.ts';
import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';
import type { BalanceRow, RateRow, SubscriptionRow } from './tables.ts';

/**
 * The state of an account for decisions. It consists of plain values, so that it can be copied to another thread. Decisions change it in
 * place; the changes are then written to the database.
 */
export interface AccountState {
  readonly accountId: string;
  readonly money: MoneyState;
  readonly subscriptions: Map<string, SubscriptionState>;
  /** The active subscription, or else the last one that ended; `null` if no subscription has started. */
  currentSubscriptionId: string | null;
  /**
   * The plan that the account can use, as set by `advanceAll`; `null` if it has no plan, the plan has ended, or it is no longer offered.
   */
  activePlan: ActivePlan | null;
  readonly keys: Map<string, KeyState>;
  /** The limits per minute that the batch needs, by `rateName`. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends BalanceRow {}

export interface SubscriptionState extends SubscriptionRow {
  /** The oldest slots of the window, in order, limited to the number that the batch can use. They are followed by slots in the future. */
  readonly oldestSlots: Slot[];
  /** Maximum number of slots that were read of each kind, oldest and future. If fewer were read, no others exist. */
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
  /** Whether the limit has a row. Limits that are only in the configuration have none until the first call creates it. */
  readonly isStored: boolean;
}

/** Identifies a limit within its account. The space is a safe separator, because ids never contain one. */
export const rateName = ({ keyId, model }: Pick<RateState, 'keyId' | 'model'>): string => `${keyId} ${model}`;

/** The input of an admission that the node provides. The current time comes from the database. */
export interface AdmissionTerms {
  /** For tests: replaces the time of the database; `null` in production. */
  readonly nowMs: number | null;
  readonly plans: ReadonlyMap<string, PlanTerms>;
  readonly rateDefaults: RateDefaults | null;
  contextAt(nowMs: number): AdmissionContext;
}

/** The input of a decision besides the state of accounts: the time of the database, and the configuration in force. */
export interface AdmissionContext extends RunningPeriods {
  /** The daily cap of accounts that have no cap of their own; `null`: no cap. */
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
