import { beganAtMs, isCounted } from '../../counts/counted-since.ts';
import { WEEK_MS } from '../../plans/plan.ts';
import type { SubscriptionState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** Limits the calls per week. Weeks are counted from the start of the subscription. */
export const weeklyWindow: Limit = {
  advance({ subscription }, context) {
    const { startsAtMs, weekBeganAtMs } = subscription;
    const runningSinceMs = beganAtMs(startsAtMs, WEEK_MS, context.nowMs);
    if (isCounted(weekBeganAtMs, runningSinceMs, context.nowMs)) return;
    subscription.weekBeganAtMs = runningSinceMs;
    subscription.weekNo++;
    subscription.weekCalls = 0;
  },
  refuse(_call, { activePlan: plan }, context) {
    if (plan === null || plan.subscription.weekCalls < plan.terms.weeklyCalls) return null;
    return { kind: 'packageWeeklyQuotaExhausted', retryAt: weekEndMs(plan.subscription, context.nowMs) };
  },
  take(_request, { activePlan: plan }, reservation) {
    if (plan === null) return;
    reservation.weekNo = plan.subscription.weekNo;
    plan.subscription.weekCalls++;
  },
  free({ subscriptionId, weekNo }, { counts }, { subscriptions }) {
    const subscription = subscriptionId === null ? undefined : subscriptions.get(subscriptionId);
    if (subscription !== undefined && !counts && subscription.weekNo === weekNo) subscription.weekCalls--;
  },
  window: ({ terms, subscription }, { nowMs }) => ({
    name: 'weekly',
    limit: terms.weeklyCalls,
    used: subscription.weekCalls,
    resetAtMs: weekEndMs(subscription, nowMs),
  }),
};

/** Returns the end of the current week. `advance` must have updated the counted week before. */
function weekEndMs({ startsAtMs, weekBeganAtMs }: SubscriptionState, nowMs: number): number {
  return beganAtMs(startsAtMs, WEEK_MS, Math.max(weekBeganAtMs, nowMs)) + WEEK_MS;
}
