import { isInFuture } from '../../counts/counted-since.ts';
import { FIVE_HOURS_MS, type PlanTerms } from '../../plans/plan.ts';
import type { Slot, SubscriptionState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/**
 * Limits the calls in any five hours, exactly for each call. An admission deletes only as many expired or future slots as it can use, so a
 * limit of 100,000 costs no more than one of 10.
 */
export const fiveHourWindow: Limit = {
  advance({ subscription }, context) {
    const givenBack = new Set(subscription.deletedSlots);
    for (const slot of subscription.oldestSlots) {
      if (isLive(slot, context.nowMs) || givenBack.has(slot.callId)) continue;
      subscription.deletedSlots.push(slot.callId);
      subscription.slots--;
    }
  },
  refuse(_call, { activePlan: plan }, context) {
    if (plan === null || plan.subscription.slots < plan.terms.fiveHourCalls) return null;
    return { kind: 'packageFiveHourQuotaExhausted', retryAt: freeAtMs(plan.subscription, plan.terms, context.nowMs) };
  },
  take({ callId }, { activePlan: plan }, _reservation, context) {
    if (plan === null) return;
    plan.subscription.slots++;
    plan.subscription.newSlots.push({ callId, takenAtMs: context.nowMs });
  },
  free({ subscriptionId, callId, hasSlot }, { counts }, { subscriptions }) {
    const subscription = subscriptionId === null ? undefined : subscriptions.get(subscriptionId);
    if (subscription === undefined || counts || !hasSlot) return;
    subscription.slots--;
    subscription.deletedSlots.push(callId);
  },
  window({ terms, subscription }, { nowMs }) {
    const { slots, oldestSlots, oldestSlotsMax } = subscription;
    // If as many slots were read as allowed, more of them may be expired or in the future, so the use is unknown.
    const lapsed = oldestSlots.filter(({ takenAtMs }) => takenAtMs <= nowMs - FIVE_HOURS_MS).length;
    const future = oldestSlots.filter(({ takenAtMs }) => isInFuture(takenAtMs, nowMs)).length;
    if (Math.max(lapsed, future) >= oldestSlotsMax) return null;
    const limit = terms.fiveHourCalls;
    const resetAtMs = slots < limit ? nowMs + FIVE_HOURS_MS : freeAtMs(subscription, terms, nowMs);
    return { name: 'fiveHour', limit, used: slots, resetAtMs };
  },
};

/** Whether a slot counts. One slightly in the future does, because the clock may have gone back. */
function isLive({ takenAtMs }: Slot, nowMs: number): boolean {
  return takenAtMs > nowMs - FIVE_HOURS_MS && !isInFuture(takenAtMs, nowMs);
}

/** Returns when the use falls below the limit: the expiry of the slot that must expire for that. */
function freeAtMs(subscription: SubscriptionState, { fiveHourCalls }: PlanTerms, nowMs: number): number {
  const givenBack = new Set(subscription.deletedSlots);
  const live = subscription.oldestSlots.filter((slot) => isLive(slot, nowMs) && !givenBack.has(slot.callId));
  // Sorted, because a new slot expires before stored ones if the clock went back.
  const window = [...live, ...subscription.newSlots].sort((one, other) => one.takenAtMs - other.takenAtMs);
  return (window[subscription.slots - fiveHourCalls]?.takenAtMs ?? nowMs) + FIVE_HOURS_MS;
}
