import { createBatcher } from '../lib/batcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { CodingVerdict } from './coding-call.ts';
import type { PlanTerms } from './plan.ts';
import { DAY_MS } from './snapshot.ts';
import type { PlanStanding, PlanStandingStore } from './standing-store.ts';

/**
 * What an admission would answer now, whatever the call: nothing is held by asking. Calls at the same time are left out:
 * one of them may have ended when the call is there.
 */
export type PlanLook = (accountId: string) => Promise<Pick<CodingVerdict, 'code' | 'freeAtMs'>>;

export interface PlanLookOptions {
  readonly store: PlanStandingStore;
  readonly clock: Clock;
  readonly plans: () => readonly PlanTerms[];
}

/** Looks at Coding Plans, those asked for at the same time in one statement. */
export function createPlanLook({ store, clock, plans }: PlanLookOptions): PlanLook {
  const looks = createBatcher<string, Pick<CodingVerdict, 'code' | 'freeAtMs'>>({
    async run(accountIds) {
      const [terms, nowMs] = [plans(), clock.nowMs()];
      const standings = await store.findStandings(accountIds, terms, new Date(nowMs));
      return accountIds.map((id) => judgePlan(standings.get(id)!, terms, nowMs));
    },
    isItemFault: () => false,
    batchItemsMax: 256,
    waitingItemsMax: 20_000,
  });
  return (accountId) => looks.submit(accountId);
}

const FIVE_HOURS_MS = 5 * 3_600_000;
const WEEK_MS = 7 * DAY_MS;

/** As admission decides on the first call of a batch, but for what depends on the call. */
export function judgePlan(
  { active, hasPast }: PlanStanding,
  plans: readonly PlanTerms[],
  nowMs: number,
): Pick<CodingVerdict, 'code' | 'freeAtMs'> {
  const plan = active === null ? undefined : plans.find(({ id }) => id === active.planId);
  if (active === null || plan === undefined) {
    return { code: hasPast ? 'package_expired' : 'insufficient_package', freeAtMs: null };
  }
  const ageMs = nowMs - active.startsAtMs;
  if (active.fiveHourCalls >= plan.fiveHourCalls) {
    return { code: 'package_5h_quota_exhausted', freeAtMs: (active.slotTakenAtMs ?? nowMs) + FIVE_HOURS_MS };
  }
  const weekNo = Math.max(active.weekNo, Math.floor(ageMs / WEEK_MS));
  if ((weekNo === active.weekNo ? active.weekCalls : 0) >= plan.weeklyCalls) {
    return { code: 'package_weekly_quota_exhausted', freeAtMs: active.startsAtMs + (weekNo + 1) * WEEK_MS };
  }
  const periodMs = plan.periodDays * DAY_MS;
  const periodNo = Math.max(active.periodNo, Math.floor(ageMs / periodMs));
  if ((periodNo === active.periodNo ? active.periodTokens : 0) >= plan.quotaTokens) {
    const freeAtMs = Math.min(active.startsAtMs + (periodNo + 1) * periodMs, active.endsAtMs);
    return { code: 'package_tokens_exhausted', freeAtMs };
  }
  return { code: 'admitted', freeAtMs: null };
}
