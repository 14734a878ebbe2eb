import { currentSubscription } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** The limits of a Coding Plan that do not depend on what is used of it. */

/** A call on a coding address needs a subscription that has begun and is not over, of a plan that is still offered. */
export const planIsActive: Limit = {
  refuse(_call, account, context) {
    if (account.activePlan !== null) return null;
    const subscription = currentSubscription(account);
    const isExpired = subscription !== null && subscription.endsAtMs <= context.nowMs;
    return { kind: isExpired ? 'packageExpired' : 'insufficientPackage', retryAt: null, isPaymentRequired: true };
  },
  take(_request, account, reservation) {
    reservation.subscriptionId = account.currentSubscriptionId;
  },
};

export const planHasModel: Limit = {
  refuse({ request }, { activePlan: plan }) {
    if (!request?.plan || plan === null) return null;
    const { models } = plan.terms;
    if (models.has(request.model) && request.plan.innerModels.every((model) => models.has(model))) return null;
    return { kind: 'modelNotInPackage', retryAt: null, param: 'model' };
  },
};

export const planInputSize: Limit = {
  refuse({ request }, { activePlan: plan }) {
    if (!request?.plan || plan === null || request.plan.inputBytes <= plan.terms.inputBytesMax) return null;
    return { kind: 'packageInputTooLarge', retryAt: null };
  },
};

export const planOutputSize: Limit = {
  refuse({ request }, { activePlan: plan }) {
    if (!request?.plan || plan === null || request.plan.outputTokensRequested <= plan.terms.outputTokensMax)
      return null;
    return { kind: 'packageOutputLimitExceeded', retryAt: null };
  },
};
