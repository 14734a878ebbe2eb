import { countedPeriod } from '../accounting/counts/counted-since.ts';
import { formatYuan } from '../lib/yuan.ts';
import {
  type AccountFacts,
  type AccountTerms,
  type NoticedPlan,
  type SubscriptionFacts,
  WINDOW_MS,
  type WindowFacts,
} from './account-facts.ts';
import { decideBudget, decideDailyCap, noticedBudgets } from './budget-decision.ts';
import { type AccountDecision, decideShare, NOTHING, type NoticeStates } from './notice-states.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const BALANCE = 'balance';

/**
 * Decides on notices for an account. A threshold causes one notice, and another one only after the balance was more than a tenth above it,
 * or in a new period.
 */
export function decideAccount(facts: AccountFacts, states: NoticeStates, terms: AccountTerms): AccountDecision {
  const decisions = [
    decideBalance(facts, states.has(BALANCE), facts.lowBalanceNano ?? terms.lowBalanceNano),
    decideDailyCap(facts, states, terms),
    ...noticedBudgets(facts.budgets, states).map((budget) => decideBudget(budget, states, terms)),
    ...facts.subscriptions.flatMap((subscription) => decidePlan(facts.accountId, subscription, states, terms)),
  ];
  return {
    notices: decisions.flatMap(({ notices }) => notices),
    states: decisions.flatMap(({ states }) => states),
    cleared: decisions.flatMap(({ cleared }) => cleared),
  };
}

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
  readonly name: 'tokens' | 'weekly_calls' | 'five_hour_calls';
  readonly occurrence: number;
  readonly used: number;
  readonly limit: number;
  readonly resetsAtMs: number;
}

function decidePlan(
  accountId: string,
  subscription: SubscriptionFacts,
  states: NoticeStates,
  { nowMs, plans, planPercents }: AccountTerms,
): AccountDecision[] {
  const { id, planId, startsAtMs, endsAtMs } = subscription;
  const plan = plans.get(planId);
  if (plan === undefined || startsAtMs > nowMs || endsAtMs <= nowMs) return [];
  const windowState = states.get(`five_hour_calls ${id}`);
  const measures = [
    ...measuresOf(subscription, plan, nowMs),
    windowMeasure(subscription.window, plan, windowState === undefined ? null : Number(windowState.occurrence), nowMs),
  ];
  return measures.map(({ name, occurrence, used, limit, resetsAtMs }) =>
    decideShare(states, {
      kind: 'plan.nearly_used',
      accountId,
      subject: `${name} ${id}`,
      occurrence: String(occurrence),
      percent: limit === 0 ? 0 : Math.floor((used * 100) / limit),
      percents: planPercents,
      data: {
        accountId,
        subscriptionId: id,
        planId,
        planName: plan.name,
        measure: name,
        used,
        limit,
        resetsAt: new Date(Math.min(resetsAtMs, endsAtMs)).toISOString(),
      },
    }),
  );
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

/**
 * Returns the use of the sliding window. It has no periods, so a period begins with its first notice and lasts as long as the window.
 *
 * @param notifiedAtMs start of the last such period; `null`: there was none
 */
function windowMeasure(
  { calls, oldestAtMs }: WindowFacts,
  { fiveHourCalls }: NoticedPlan,
  notifiedAtMs: number | null,
  nowMs: number,
): Measure {
  const continues = notifiedAtMs !== null && notifiedAtMs <= nowMs && nowMs < notifiedAtMs + WINDOW_MS;
  const occurrence = continues ? notifiedAtMs : nowMs;
  const resetsAtMs = (oldestAtMs ?? nowMs) + WINDOW_MS;
  return { name: 'five_hour_calls', occurrence, used: calls, limit: fiveHourCalls, resetsAtMs };
}
