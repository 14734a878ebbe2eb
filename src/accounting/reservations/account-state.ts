import type { PlanTerms } from '../plans/plan.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { RateDefaults } from './rate-defaults.ts';

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
  /** Keys with limits that the batch needs, by id. */
  readonly keys: Map<string, KeyState>;
  /** Limits by the minute that the batch needs, by `rateName`. */
  readonly rates: Map<string, RateState>;
}

export interface MoneyState extends MoneyTerms, MoneyCounts {}

export interface MoneyTerms {
  readonly accountId: string;
  /** `null`: the configuration's cap. */
  readonly dailyCapNano: bigint | null;
  /** The cap that the owners of the account set below it. */
  readonly ownDailyCapNano: bigint | null;
  /** What the account pays of the list price. */
  readonly priceFactorBasisPoints: number;
}

/**
 * As the other `…Counts`: what decisions change, and what is written if they have. `…BeganAtMs` is the beginning of the day, week,
 * month or period that is counted, by the terms at that time; whether it still counts: `accounting/counts/counted-since.ts`.
 */
export interface MoneyCounts {
  balanceNano: bigint;
  reservedNano: bigint;
  /** Of the day that `spentNano` counts. */
  dayBeganAtMs: number;
  /** How many days were begun: records name by it the one in which they are counted, as by the other `…No`. */
  dayNo: number;
  spentNano: bigint;
  lastEntryNo: bigint;
}

export interface SubscriptionState extends SubscriptionTerms, SubscriptionCounts {
  /** The oldest slots of the window, in order: as many as the batch can make use of. Behind them those that lie ahead. */
  readonly oldestSlots: readonly Slot[];
  /** How many of each were read at most: if there are fewer, there are no others. */
  readonly oldestSlotsMax: number;
  readonly newSlots: Slot[];
  /** Calls whose slots are to be deleted. */
  readonly deletedSlots: string[];
}

export interface SubscriptionTerms {
  readonly accountId: string;
  readonly id: string;
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export interface SubscriptionCounts {
  /** Rows of `plan_slots`; those that are older than five hours count until they are deleted. */
  slots: number;
  weekBeganAtMs: number;
  /** How many weeks were begun: reservations name by it the one in which they are counted. As `periodNo`. */
  weekNo: number;
  weekCalls: number;
  periodBeganAtMs: number;
  periodNo: number;
  periodTokens: number;
  periodReservedTokens: number;
  inFlight: number;
  /** How many records of calls say that they count here. */
  useNo: number;
}

export interface Slot {
  readonly callId: string;
  readonly takenAtMs: number;
}

export interface KeyState extends KeyTerms, KeyCounts {}

export interface KeyTerms {
  readonly accountId: string;
  readonly keyId: string;
  /** What it may spend in a day, a week and a month of the billing time zone, and in all; `null`: not limited. */
  readonly dailySpendCapNano: bigint | null;
  readonly weeklySpendCapNano: bigint | null;
  readonly monthlySpendCapNano: bigint | null;
  readonly totalSpendCapNano: bigint | null;
  readonly dailyCallsMax: number | null;
  readonly concurrencyMax: number | null;
}

export interface KeyCounts {
  /** Of the day that `spentNano` and `calls` count. */
  dayBeganAtMs: number;
  /** How many days were begun: reservations name by it the one in which they are counted. */
  dayNo: number;
  spentNano: bigint;
  weekBeganAtMs: number;
  weekNo: number;
  weekSpentNano: bigint;
  monthBeganAtMs: number;
  monthNo: number;
  monthSpentNano: bigint;
  totalSpentNano: bigint;
  calls: number;
  reservedNano: bigint;
  inFlight: number;
  /** How many records of calls say that they count among its calls. */
  useNo: number;
}

/** What an account or a key, for all models or for one, may use in a minute, and has used. */
export interface RateState extends RateTerms, RateCounts {
  /** Whether there is a row of it. One that only the configuration limits is made by its first call. */
  readonly isStored: boolean;
}

export interface RateTerms {
  readonly accountId: string;
  /** Empty: of the account. */
  readonly keyId: string;
  /** Empty: of all models together. */
  readonly model: string;
  /** `null`: not limited, or where it is the account's, as the configuration says. */
  readonly requestsMax: number | null;
  readonly tokensMax: number | null;
}

/** In 60,000ths, of which a limit of n a minute frees n in a millisecond. */
export interface RateCounts {
  /** The instant as of which the others are. */
  countedAtMs: number;
  requestsUsed: number;
  tokensUsed: number;
}

/** A limit among those of an account. No id has a space. */
export const rateName = ({ keyId, model }: Pick<RateTerms, 'keyId' | 'model'>): string => `${keyId} ${model}`;

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

/** The plan that an account may use now; `null` if it has none, it is over, or its plan is not offered any more. */
export function activePlan(account: AccountState, { plans, nowMs }: AdmissionContext): ActivePlan | null {
  const subscription = currentSubscription(account);
  const terms = subscription && plans.get(subscription.planId);
  return subscription && terms && subscription.endsAtMs > nowMs ? { terms, subscription } : null;
}

export function currentSubscription({ currentSubscriptionId, subscriptions }: AccountState): SubscriptionState | null {
  return currentSubscriptionId === null ? null : (subscriptions.get(currentSubscriptionId) ?? null);
}
