import { totalTokens } from '../../protocols/metering/usage-facts.ts';
import type { CallOutcome } from '../calls/call-outcome.ts';
import { beganAtMs } from '../counts/counted-since.ts';
import { placeOf } from '../counts/counted-use.ts';
import { FIVE_HOURS_MS, WEEK_MS } from '../plans/plan.ts';
import type { HistoryRow } from './history-store.ts';

interface FirstPeriod {
  readonly accountId: string;
  readonly id: string;
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** Rows for a subscription after all calls of its account. All counts are in `countedBefore`, because these calls state none. */
export function subscriptionRows(
  { startsAtMs, ...subscription }: FirstPeriod,
  calls: readonly CallOutcome[],
  nowMs: number,
): { readonly subscription: HistoryRow; readonly slots: readonly HistoryRow[] } {
  const { accountId, id } = subscription;
  const weekBeganAtMs = beganAtMs(startsAtMs, WEEK_MS, nowMs);
  // A call counts once a successful response has started; all others gave their slots back.
  const counted = calls.filter(
    (call) => call.accountId === accountId && call.context === 'coding' && call.usage !== null,
  );
  const slots = counted.filter(({ startedAtMs }) => startedAtMs > nowMs - FIVE_HOURS_MS);
  const weekCalls = counted.filter(({ startedAtMs }) => startedAtMs >= weekBeganAtMs).length;
  const periodTokens = counted.reduce((sum, { usage }) => sum + totalTokens(usage!), 0);
  return {
    subscription: {
      ...subscription,
      startsAtMs,
      createdAtMs: startsAtMs,
      slots: slots.length,
      weekBeganAtMs,
      weekCalls,
      periodBeganAtMs: startsAtMs,
      periodTokens,
      countedBefore: { week: placeOf(0, weekBeganAtMs), weekCalls, period: placeOf(0, startsAtMs), periodTokens },
    },
    slots: slots.map(({ callId, startedAtMs }) => ({ accountId, subscriptionId: id, callId, takenAtMs: startedAtMs })),
  };
}
