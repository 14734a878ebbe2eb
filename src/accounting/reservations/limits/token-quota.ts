import { beganAtMs, isCounted } from '../../counts/counted-since.ts';
import { periodMsOf } from '../../plans/plan.ts';
import type { Limit } from './limit.ts';

/** Limits the tokens in each period of a plan. A call is admitted while used and reserved tokens are below the quota. */
export const tokenQuota: Limit = {
  advance({ subscription, terms }, context) {
    const { startsAtMs, periodBeganAtMs } = subscription;
    const runningSinceMs = beganAtMs(startsAtMs, periodMsOf(terms), context.nowMs);
    if (isCounted(periodBeganAtMs, runningSinceMs, context.nowMs)) return;
    subscription.periodBeganAtMs = runningSinceMs;
    subscription.periodNo++;
    subscription.periodTokens = 0;
    subscription.periodReservedTokens = 0;
  },
  refuse(_call, { activePlan: plan }, context) {
    if (plan === null) return null;
    const { startsAtMs, endsAtMs, periodBeganAtMs, periodTokens, periodReservedTokens } = plan.subscription;
    if (periodTokens + periodReservedTokens < plan.terms.quotaTokens) return null;
    // If the quota is exhausted only together with calls in flight, some of it may be free when they end.
    if (periodTokens < plan.terms.quotaTokens) return { kind: 'packageConcurrencyLimited', retryAt: 'soon' };
    const lengthMs = periodMsOf(plan.terms);
    const periodEndsAtMs = beganAtMs(startsAtMs, lengthMs, Math.max(periodBeganAtMs, context.nowMs)) + lengthMs;
    return { kind: 'packageTokensExhausted', retryAt: Math.min(periodEndsAtMs, endsAtMs), isPaymentRequired: true };
  },
  take({ plan: asked }, { activePlan: plan }, reservation) {
    if (asked === null || plan === null) return;
    reservation.periodNo = plan.subscription.periodNo;
    reservation.tokens = asked.tokens;
    plan.subscription.periodReservedTokens += asked.tokens;
  },
  free({ subscriptionId, periodNo, tokens }, use, { subscriptions }) {
    const subscription = subscriptionId === null ? undefined : subscriptions.get(subscriptionId);
    if (subscription === undefined || subscription.periodNo !== periodNo) return;
    subscription.periodReservedTokens -= tokens ?? 0;
    if (use.counts) subscription.periodTokens += use.tokens;
  },
};
