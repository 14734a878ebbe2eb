import type { Limit } from './limit.ts';

export const planConcurrency: Limit = {
  refuse(_call, { activePlan: plan }) {
    if (plan === null || plan.subscription.inFlight < plan.terms.concurrency) return null;
    return { kind: 'packageConcurrencyLimited', retryAt: 'soon' };
  },
  take(_request, { activePlan: plan }) {
    if (plan !== null) plan.subscription.inFlight++;
  },
  free({ subscriptionId }, _use, { subscriptions }) {
    const subscription = subscriptionId === null ? undefined : subscriptions.get(subscriptionId);
    if (subscription !== undefined) subscription.inFlight--;
  },
};
