import { countedPeriod } from '../counts/counted-since.ts';
import { FIVE_HOURS_MS, type PlanTerms, periodMsOf, WEEK_MS } from './plan.ts';
import type { SubscriptionState } from './subscription-state-store.ts';

/** What remains of a plan (contract 2.3). Every field is present in every state. */
interface PlanSnapshot {
  readonly active: boolean;
  readonly is_active: boolean;
  readonly isValid: boolean;
  readonly balance: number;
  readonly remaining: number;
  readonly quota: number;
  readonly usedQuota: number;
  readonly unit: 'calls';
  readonly planName: string | null;
  readonly capturedAt: string;
  readonly message: string | null;
  readonly fiveHour: (Window & { readonly resetAt: string }) | null;
  readonly weekly: (Window & { readonly windowStart: string; readonly windowEnd: string }) | null;
  readonly concurrency: { readonly limit: number; readonly inFlight: number } | null;
  readonly pkg: TokenQuota | null;
}

interface Window {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly usedPercent: number;
}

interface TokenQuota {
  readonly quotaTokens: number;
  readonly usedTokens: number;
  readonly remainingTokens: number;
  readonly usagePercent: number;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly supportedModels: readonly string[];
}

export type CurrentPlan =
  | { readonly plan: PlanTerms; readonly state: SubscriptionState }
  | { readonly plan: null; readonly reason: string };

export function findCurrentPlan(
  state: SubscriptionState | null,
  plans: readonly PlanTerms[],
  nowMs: number,
): CurrentPlan {
  if (state === null) return { plan: null, reason: 'This account has no Coding Plan.' };
  const plan = plans.find(({ id }) => id === state.planId);
  if (plan === undefined) return { plan: null, reason: `The plan ${state.planId} is no longer offered.` };
  if (state.startsAtMs > nowMs)
    return { plan: null, reason: `The plan ${plan.name} begins at ${iso(state.startsAtMs)}.` };
  if (state.endsAtMs <= nowMs)
    return { plan: null, reason: `The plan ${plan.name} expired at ${iso(state.endsAtMs)}.` };
  return { plan, state };
}

export function noPlanSnapshot(nowMs: number, message: string): PlanSnapshot {
  return {
    active: false,
    is_active: false,
    isValid: false,
    balance: 0,
    remaining: 0,
    quota: 0,
    usedQuota: 0,
    unit: 'calls',
    planName: null,
    capturedAt: iso(nowMs),
    message,
    fiveHour: null,
    weekly: null,
    concurrency: null,
    pkg: null,
  };
}

/** What remains of a plan now. Once the tokens are used up, no calls remain, even if the windows have capacity. */
export function planSnapshot(plan: PlanTerms, state: SubscriptionState, nowMs: number): PlanSnapshot {
  const fiveHour = window(plan.fiveHourCalls, state.fiveHourCalls);
  const { startsAtMs, weekBeganAtMs, periodBeganAtMs } = state;
  const week = countedPeriod(startsAtMs, WEEK_MS, weekBeganAtMs, nowMs);
  const weekStartMs = week.beganAtMs;
  const weekly = window(plan.weeklyCalls, week.isCounted ? state.weekCalls : 0);
  const periodMs = periodMsOf(plan);
  const period = countedPeriod(startsAtMs, periodMs, periodBeganAtMs, nowMs);
  const periodStartMs = period.beganAtMs;
  const usedTokens = period.isCounted ? state.periodTokens : 0;
  const remainingTokens = Math.max(plan.quotaTokens - usedTokens, 0);
  const remaining = remainingTokens === 0 ? 0 : Math.min(fiveHour.remaining, weekly.remaining);
  return {
    active: true,
    is_active: remaining > 0,
    isValid: remaining > 0,
    balance: remaining,
    remaining,
    quota: fiveHour.limit,
    usedQuota: fiveHour.used,
    unit: 'calls',
    planName: plan.name,
    capturedAt: iso(nowMs),
    message: null,
    fiveHour: { ...fiveHour, resetAt: iso(nowMs + FIVE_HOURS_MS) },
    weekly: { ...weekly, windowStart: iso(weekStartMs), windowEnd: iso(weekStartMs + WEEK_MS) },
    concurrency: { limit: plan.concurrency, inFlight: state.inFlight },
    pkg: {
      quotaTokens: plan.quotaTokens,
      usedTokens,
      remainingTokens,
      usagePercent: percent(usedTokens, plan.quotaTokens),
      periodStart: iso(periodStartMs),
      periodEnd: iso(Math.min(periodStartMs + periodMs, state.endsAtMs)),
      supportedModels: [...plan.models],
    },
  };
}

/** When the plan can be used again; `null` if something remains. */
export function usableAgainMs(state: SubscriptionState, snapshot: PlanSnapshot): number | null {
  const { fiveHour, weekly, pkg, remaining } = snapshot;
  if (remaining > 0 || fiveHour === null || weekly === null || pkg === null) return null;
  return Math.max(
    fiveHour.remaining > 0 ? 0 : (state.fiveHourMoreAtMs ?? Date.parse(fiveHour.resetAt)),
    weekly.remaining > 0 ? 0 : Date.parse(weekly.windowEnd),
    pkg.remainingTokens > 0 ? 0 : Date.parse(pkg.periodEnd),
  );
}

function window(limit: number, used: number): Window {
  return { limit, used, remaining: Math.max(limit - used, 0), usedPercent: percent(used, limit) };
}

/** Percentage of a limit that is used, rounded down, so that 100 means that nothing remains. */
function percent(used: number, limit: number): number {
  return limit === 0 ? 100 : Math.min(Math.floor((used * 100) / limit), 100);
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
