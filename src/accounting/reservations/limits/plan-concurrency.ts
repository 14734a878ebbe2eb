import { activePlan } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** How many calls of a Coding Plan may run at the same time. */
export const planConcurrency: Limit = {
  refuse(call, account, context) {
    const plan = call.isOnPlan ? activePlan(account, context) : null;
    if (plan === null || plan.subscription.inFlight < plan.terms.concurrency) return null;
    return { kind: 'packageConcurrencyLimited', retryAt: 'soon' };
  },
  take({ plan }, account, _reservation, context) {
    const subscription = plan && activePlan(account, context)?.subscription;
    if (subscription) subscription.inFlight++;
  },
  free({ subscriptionId }, _use, { subscriptions }) {
    const subscription = subscriptionId === null ? undefined : subscriptions.get(subscriptionId);
    if (subscription !== undefined) subscription.inFlight--;
  },
};
