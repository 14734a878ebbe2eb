import { beganAtMs, isCounted } from '../../counts/counted-since.ts';
import { WEEK_MS } from '../../plans/plan.ts';
import { activePlan, type SubscriptionState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** The weekly window of a Coding Plan: seven days from the beginning of the subscription, again and again. */
export const weeklyWindow: Limit = {
  advance(account, context) {
    const subscription = activePlan(account, context)?.subscription;
    if (subscription === undefined) return;
    const { startsAtMs, weekBeganAtMs } = subscription;
    const runningSinceMs = beganAtMs(startsAtMs, WEEK_MS, context.nowMs);
    if (isCounted(weekBeganAtMs, runningSinceMs, context.nowMs)) return;
    subscription.weekBeganAtMs = runningSinceMs;
    subscription.weekNo++;
    subscription.weekCalls = 0;
  },
  refuse(call, account, context) {
    const plan = call.isOnPlan ? activePlan(account, context) : null;
    if (plan === null || plan.subscription.weekCalls < plan.terms.weeklyCalls) return null;
    return { kind: 'packageWeeklyQuotaExhausted', retryAt: weekEndMs(plan.subscription, context.nowMs) };
  },
  take({ plan }, account, reservation, context) {
    const subscription = plan && activePlan(account, context)?.subscription;
    if (!subscription) return;
    reservation.weekNo = subscription.weekNo;
    subscription.weekCalls++;
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

/** Of the week that is counted, which `advance` has brought up to the present. */
function weekEndMs({ startsAtMs, weekBeganAtMs }: SubscriptionState, nowMs: number): number {
  return beganAtMs(startsAtMs, WEEK_MS, Math.max(weekBeganAtMs, nowMs)) + WEEK_MS;
}
