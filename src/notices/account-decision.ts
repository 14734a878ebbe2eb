import { countedPeriod } from '../accounting/counts/counted-since.ts';
import { formatYuan } from '../lib/yuan.ts';
import type { DueNotice } from './notice.ts';

export interface AccountFacts {
  readonly accountId: string;
  readonly balanceNano: bigint;
  readonly lastEntryNo: bigint;
  /** The account's own threshold; `null`: the configured one applies. */
  readonly lowBalanceNano: bigint | null;
  readonly subscriptions: readonly SubscriptionFacts[];
}

interface SubscriptionFacts {
  readonly id: string;
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly weekBeganAtMs: number;
  readonly weekCalls: number;
  readonly periodBeganAtMs: number;
  readonly periodTokens: number;
}

/** Level at which a subject last caused a notice, as long as it is not left. */
export interface NoticeState {
  readonly accountId: string;
  readonly subject: string;
  /** Period to which the level belongs; empty if the subject has no periods. */
  readonly occurrence: string;
  readonly level: number;
}

export interface AccountTerms {
  readonly nowMs: number;
  /** Configured threshold; `null`: only accounts with one of their own have a threshold. */
  readonly lowBalanceNano: bigint | null;
  /** Percentages of a plan's quota at which a notice is due, in ascending order. */
  readonly planPercents: readonly number[];
  readonly plans: ReadonlyMap<string, NoticedPlan>;
}

interface NoticedPlan {
  readonly name: string;
  readonly quotaTokens: number;
  readonly periodDays: number;
  readonly weeklyCalls: number;
}

export interface AccountDecision {
  readonly notices: readonly DueNotice[];
  readonly states: readonly NoticeState[];
  readonly cleared: readonly string[];
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const BALANCE = 'balance';

/**
 * Decides on notices for an account. A threshold causes one notice, and another one only after the balance was more than a tenth above it,
 * or in a new week or period.
 */
export function decideAccount(
  facts: AccountFacts,
  states: ReadonlyMap<string, NoticeState>,
  terms: AccountTerms,
): AccountDecision {
  const decisions = [
    decideBalance(facts, states.has(BALANCE), facts.lowBalanceNano ?? terms.lowBalanceNano),
    ...facts.subscriptions.flatMap((subscription) => decidePlan(facts.accountId, subscription, states, terms)),
  ];
  return {
    notices: decisions.flatMap(({ notices }) => notices),
    states: decisions.flatMap(({ states }) => states),
    cleared: decisions.flatMap(({ cleared }) => cleared),
  };
}

const NOTHING: AccountDecision = { notices: [], states: [], cleared: [] };

/** Decides on a low balance. It ends at a tenth above the threshold, so that a balance near the threshold causes few notices. */
function decideBalance(
  { accountId, balanceNano, lastEntryNo }: AccountFacts,
  isNotified: boolean,
  thresholdNano: bigint | null,
): AccountDecision {
  if (isNotified) {
    const isOver = thresholdNano === null || balanceNano > thresholdNano + thresholdNano / 10n;
    return isOver ? { ...NOTHING, cleared: [BALANCE] } : NOTHING;
  }
  // An account without any entry was never topped up, and causes no notice.
  if (thresholdNano === null || balanceNano >= thresholdNano || lastEntryNo === 0n) return NOTHING;
  return {
    cleared: [],
    states: [{ accountId, subject: BALANCE, occurrence: '', level: 1 }],
    notices: [
      {
        kind: 'balance.low',
        accountId,
        subject: accountId,
        dedupeKey: `balance.low ${accountId} ${lastEntryNo}`,
        quietMs: 0,
        data: { accountId, balanceYuan: formatYuan(balanceNano), thresholdYuan: formatYuan(thresholdNano) },
      },
    ],
  };
}

interface Measure {
  readonly name: 'tokens' | 'weekly_calls';
  readonly occurrence: number;
  readonly used: number;
  readonly limit: number;
  readonly resetsAtMs: number;
}

function decidePlan(
  accountId: string,
  subscription: SubscriptionFacts,
  states: ReadonlyMap<string, NoticeState>,
  { nowMs, plans, planPercents }: AccountTerms,
): AccountDecision[] {
  const { id, planId, startsAtMs, endsAtMs } = subscription;
  const plan = plans.get(planId);
  if (plan === undefined || startsAtMs > nowMs || endsAtMs <= nowMs) return [];
  return measuresOf(subscription, plan, nowMs).map((measure) => {
    const { name, occurrence, used, limit, resetsAtMs } = measure;
    const percent = limit === 0 ? 0 : Math.floor((used * 100) / limit);
    const reached = planPercents.findLast((each) => each <= percent) ?? 0;
    const subject = `${name} ${id}`;
    const state = states.get(subject);
    const notified = state?.occurrence === String(occurrence) ? state.level : 0;
    // If a failed call has lowered the week's count, the notice is not repeated.
    if (reached <= notified) return NOTHING;
    return {
      cleared: [],
      states: [{ accountId, subject, occurrence: String(occurrence), level: reached }],
      notices: [
        {
          kind: 'plan.nearly_used',
          accountId,
          subject,
          dedupeKey: `plan.nearly_used ${subject} ${occurrence} ${reached}`,
          quietMs: 0,
          data: {
            accountId,
            subscriptionId: id,
            planId,
            planName: plan.name,
            measure: name,
            percent: reached,
            used,
            limit,
            resetsAt: new Date(Math.min(resetsAtMs, endsAtMs)).toISOString(),
          },
        },
      ],
    };
  });
}

/** Returns the use of a plan. Counters belong to the period of the last counted call. If that is over, nothing is used. */
function measuresOf(
  { startsAtMs, weekBeganAtMs, weekCalls, periodBeganAtMs, periodTokens }: SubscriptionFacts,
  { quotaTokens, periodDays, weeklyCalls }: NoticedPlan,
  nowMs: number,
): Measure[] {
  const measure = (name: Measure['name'], lengthMs: number, countBeganAtMs: number, used: number, limit: number) => {
    const { beganAtMs, isCounted } = countedPeriod(startsAtMs, lengthMs, countBeganAtMs, nowMs);
    const occurrence = (beganAtMs - startsAtMs) / lengthMs;
    return { name, occurrence, used: isCounted ? used : 0, limit, resetsAtMs: beganAtMs + lengthMs };
  };
  return [
    measure('tokens', periodDays * DAY_MS, periodBeganAtMs, periodTokens, quotaTokens),
    measure('weekly_calls', WEEK_MS, weekBeganAtMs, weekCalls, weeklyCalls),
  ];
}
