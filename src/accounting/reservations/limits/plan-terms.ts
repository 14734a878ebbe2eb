import { activePlan, currentSubscription } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** The limits of a Coding Plan that do not depend on what is used of it. */

/** A call on a coding address needs a subscription that has begun and is not over, of a plan that is still offered. */
export const planIsActive: Limit = {
  refuse(call, account, context) {
    if (!call.isOnPlan || activePlan(account, context) !== null) return null;
    const subscription = currentSubscription(account);
    const isExpired = subscription !== null && subscription.endsAtMs <= context.nowMs;
    return { kind: isExpired ? 'packageExpired' : 'insufficientPackage', retryAt: null, isPaymentRequired: true };
  },
  take(request, account, reservation) {
    if (request.plan !== null) reservation.subscriptionId = account.currentSubscriptionId;
  },
};

export const planHasModel: Limit = {
  refuse({ request }, account, context) {
    const plan = request?.plan && activePlan(account, context);
    if (!request?.plan || !plan) return null;
    const { models } = plan.terms;
    if (models.has(request.model) && request.plan.innerModels.every((model) => models.has(model))) return null;
    return { kind: 'modelNotInPackage', retryAt: null, param: 'model' };
  },
};

export const planInputSize: Limit = {
  refuse({ request }, account, context) {
    const plan = request?.plan && activePlan(account, context);
    if (!request?.plan || !plan || request.plan.inputBytes <= plan.terms.inputBytesMax) return null;
    return { kind: 'packageInputTooLarge', retryAt: null };
  },
};

export const planOutputSize: Limit = {
  refuse({ request }, account, context) {
    const plan = request?.plan && activePlan(account, context);
    if (!request?.plan || !plan || request.plan.outputTokensRequested <= plan.terms.outputTokensMax) return null;
    return { kind: 'packageOutputLimitExceeded', retryAt: null };
  },
};
