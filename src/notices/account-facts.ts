import type { RunningPeriods } from '../accounting/pricing/running-periods.ts';
import type { UsedBudget } from '../accounting/reservations/limits/used-budgets.ts';
import type { BalanceRow } from '../accounting/reservations/tables.ts';
import type { BudgetOwner } from './budget-owner-store.ts';

/** Length of the sliding window of plans. */
export const WINDOW_MS = 5 * 3_600_000;

export interface AccountFacts {
  readonly accountId: string;
  readonly balanceNano: bigint;
  readonly lastEntryNo: bigint;
  /** The account's own threshold; `null`: the configured one applies. */
  readonly lowBalanceNano: bigint | null;
  readonly groupId: string | null;
  /** Daily spend and its caps. */
  readonly day: Pick<BalanceRow, 'dailyCapNano' | 'ownDailyCapNano' | 'dayBeganAtMs' | 'spentNano'>;
  readonly subscriptions: readonly SubscriptionFacts[];
  /** Budgets of keys, members, end users and tags that are used to at least the lowest of `budgetPercents`. */
  readonly budgets: readonly OwnedBudget[];
}

export interface SubscriptionFacts {
  readonly id: string;
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly weekBeganAtMs: number;
  readonly weekCalls: number;
  readonly periodBeganAtMs: number;
  readonly periodTokens: number;
  readonly window: WindowFacts;
}

/** The five-hour window of a plan. */
export interface WindowFacts {
  readonly calls: number;
  /** When the oldest of these calls was made; `null`: there are none. */
  readonly oldestAtMs: number | null;
}

export interface AccountTerms {
  readonly nowMs: number;
  /** Days, weeks and months of budgets, at `nowMs`. */
  readonly periods: RunningPeriods;
  /** Configured threshold; `null`: only accounts with one of their own have a threshold. */
  readonly lowBalanceNano: bigint | null;
  /** Percentages of a plan's quota at which a notice is due, in ascending order. */
  readonly planPercents: readonly number[];
  /** Percentages of a budget at which a notice is due, in ascending order. */
  readonly budgetPercents: readonly number[];
  readonly plans: ReadonlyMap<string, NoticedPlan>;
  /** Daily spend cap of accounts without one of their own, by their group; `null`: none. */
  readonly dailyCapNano: (groupId: string | null) => bigint | null;
}

export interface NoticedPlan {
  readonly name: string;
  readonly quotaTokens: number;
  readonly periodDays: number;
  readonly weeklyCalls: number;
  readonly fiveHourCalls: number;
}

/** A budget that may cause a notice, with the key, the member or the caller that it limits. */
export interface OwnedBudget extends Omit<UsedBudget, 'ownerId'> {
  readonly owner: BudgetOwner;
}
