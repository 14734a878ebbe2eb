import { lowestCap, spentToday } from '../accounting/reservations/limits/daily-cap.ts';
import { percentOf } from '../accounting/reservations/limits/used-budgets.ts';
import { formatYuan } from '../lib/yuan.ts';
import type { AccountFacts, AccountTerms, OwnedBudget } from './account-facts.ts';
import { type AccountDecision, decideShare, NOTHING, type NoticeStates } from './notice-states.ts';

/**
 * Decides on a budget of a key or a member. A changed budget counts as another one, so that the notices follow it. A notice about a member
 * is mailed to this member and the owners; one about a key to the member who owns it, or else to the owners.
 */
export function decideBudget(
  budget: OwnedBudget,
  states: NoticeStates,
  { budgetPercents }: AccountTerms,
): AccountDecision {
  const { accountId, owner, model, period, capNano, percent, beganAtMs } = budget;
  const isOfMember = owner.prefix === null;
  return decideShare(states, {
    kind: 'budget.nearly_used',
    accountId,
    subject: ['budget', accountId, owner.id, period, ...(model === null ? [] : [model])].join(' '),
    occurrence: `${beganAtMs} ${capNano}`,
    percent,
    percents: budgetPercents,
    mailTo: { userId: owner.userId, owners: isOfMember || owner.userId === null },
    data: { accountId, ...shownBudget(budget) },
  });
}

/** A budget as notices and the account API show it. */
export function shownBudget({ owner, model, period, capNano, spentNano, freesAtMs }: OwnedBudget) {
  return {
    scope: owner.prefix === null ? ('member' as const) : ('key' as const),
    ownerId: owner.id,
    name: owner.name,
    prefix: owner.prefix,
    model,
    period,
    usedYuan: formatYuan(spentNano),
    limitYuan: formatYuan(capNano),
    resetsAt: instantOf(freesAtMs),
  };
}

/** Decides on the daily spend cap of an account. */
export function decideDailyCap(
  { accountId, groupId, day }: AccountFacts,
  states: NoticeStates,
  { periods, budgetPercents, dailyCapNano }: AccountTerms,
): AccountDecision {
  const capNano = lowestCap(day.dailyCapNano ?? dailyCapNano(groupId), day.ownDailyCapNano);
  if (capNano === null) return NOTHING;
  const spentNano = spentToday(day, periods);
  return decideShare(states, {
    kind: 'budget.nearly_used',
    accountId,
    subject: `budget ${accountId} ${accountId} day`,
    occurrence: `${periods.dayBeganAtMs} ${capNano}`,
    percent: percentOf(spentNano, capNano),
    percents: budgetPercents,
    mailTo: { userId: null, owners: true },
    data: {
      accountId,
      scope: 'account',
      ownerId: accountId,
      name: null,
      prefix: null,
      model: null,
      period: 'day',
      usedYuan: formatYuan(spentNano),
      limitYuan: formatYuan(capNano),
      resetsAt: instantOf(periods.nextDayMs),
    },
  });
}

const instantOf = (epochMs: number | null): string | null =>
  epochMs === null ? null : new Date(epochMs).toISOString();
