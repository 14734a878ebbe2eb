import { isAhead } from '../../counts/counted-since.ts';
import { FIVE_HOURS_MS, type PlanTerms } from '../../plans/plan.ts';
import type { Slot, SubscriptionState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/**
 * The five-hour window of a Coding Plan: exact for each call, and as cheap for a limit of 100,000 as for one of 10. A subscription counts
 * its slots. An admission deletes expired slots from the oldest end, no more than it can use, so each slot is written once and deleted
 * once. It deletes as many slots that lie in the future, which a wrong clock left.
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
    // More slots may be expired, or lie in the future, than were read.
    const lapsed = oldestSlots.filter(({ takenAtMs }) => takenAtMs <= nowMs - FIVE_HOURS_MS).length;
    const ahead = oldestSlots.filter(({ takenAtMs }) => isAhead(takenAtMs, nowMs)).length;
    if (Math.max(lapsed, ahead) >= oldestSlotsMax) return null;
    const limit = terms.fiveHourCalls;
    const resetAtMs = slots < limit ? nowMs + FIVE_HOURS_MS : freeAtMs(subscription, terms, nowMs);
    return { name: 'fiveHour', limit, used: slots, resetAtMs };
  },
};

/** Whether a slot counts: it is in the window, or so little in the future that the clock may have gone back. */
function isLive({ takenAtMs }: Slot, nowMs: number): boolean {
  return takenAtMs > nowMs - FIVE_HOURS_MS && !isAhead(takenAtMs, nowMs);
}

/** When the window has capacity again: when the slot expires that brings it below its limit. */
function freeAtMs(subscription: SubscriptionState, { fiveHourCalls }: PlanTerms, nowMs: number): number {
  const givenBack = new Set(subscription.deletedSlots);
  const live = subscription.oldestSlots.filter((slot) => isLive(slot, nowMs) && !givenBack.has(slot.callId));
  // If the clock went back, a new slot may expire before stored ones.
  const window = [...live, ...subscription.newSlots].sort((one, other) => one.takenAtMs - other.takenAtMs);
  return (window[subscription.slots - fiveHourCalls]?.takenAtMs ?? nowMs) + FIVE_HOURS_MS;
}
