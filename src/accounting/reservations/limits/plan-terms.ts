import { type ActivePlan, currentSubscription } from '../account-state.ts';
import type { Refusal, ReservationRequest } from '../reservation.ts';
import type { Limit } from './limit.ts';

/** Refuses calls for reasons other than use. A coding call requires an active subscription to a plan that is still offered. */
export const planTerms: Limit = {
  refuse({ request }, account, context) {
    if (account.activePlan !== null) return request && refuseByTerms(request, account.activePlan);
    const subscription = currentSubscription(account);
    const isExpired = subscription !== null && subscription.endsAtMs <= context.nowMs;
    return { kind: isExpired ? 'packageExpired' : 'insufficientPackage', retryAt: null, isPaymentRequired: true };
  },
  take(_request, account, reservation) {
    reservation.subscriptionId = account.currentSubscriptionId;
  },
};

function refuseByTerms({ model, plan: asked }: ReservationRequest, { terms }: ActivePlan): Refusal | null {
  const { models, inputBytesMax, outputTokensMax } = terms;
  const { innerModels, inputBytes, outputTokensRequested } = asked!;
  if (!models.has(model) || !innerModels.every((inner) => models.has(inner))) {
    return { kind: 'modelNotInPackage', retryAt: null, param: 'model' };
  }
  if (inputBytes > inputBytesMax) return { kind: 'packageInputTooLarge', retryAt: null };
  return outputTokensRequested > outputTokensMax ? { kind: 'packageOutputLimitExceeded', retryAt: null } : null;
}
