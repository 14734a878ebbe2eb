import { lowestCap, spentToday } from '../accounting/reservations/limits/daily-cap.ts';
import { percentOf } from '../accounting/reservations/limits/used-budgets.ts';
import { formatYuan } from '../lib/yuan.ts';
import type { AccountFacts, AccountTerms, OwnedBudget } from './account-facts.ts';
import { type AccountDecision, decideShare, NOTHING, type NoticeStates } from './notice-states.ts';

/**
 * Decides on a budget of a key, a member, an end user or a tag. A changed budget counts as another one, so that the notices follow it. A
 * notice about a member is mailed to this member and the owners; one about a key to the member who owns it, or else to the owners; others to
 * the owners.
 */
export function decideBudget(
  budget: OwnedBudget,
  states: NoticeStates,
  { budgetPercents }: AccountTerms,
): AccountDecision {
  const { accountId, owner, capNano, percent, beganAtMs } = budget;
  const isOfMember = owner.prefix === null;
  return decideShare(states, {
    kind: 'budget.nearly_used',
    accountId,
    subject: subjectOf(budget),
    occurrence: `${beganAtMs} ${capNano}`,
    percent,
    percents: budgetPercents,
    mailTo: { userId: owner.userId, owners: isOfMember || owner.userId === null },
    data: { accountId, ...shownBudget(budget) },
  });
}

function subjectOf({ accountId, owner, model, caller, period }: OwnedBudget): string {
  const of = caller === null ? model : caller.value;
  return ['budget', accountId, owner.id, period, ...(of === null ? [] : [of])].join(' ');
}

/** Maximum number of end users, and of tags, whose budgets cause notices in a period. Callers choose how many there are. */
const NOTICED_CALLERS_MAX = 20;

/** Returns the budgets that may cause notices: all of keys and members, and the first ones of callers in a period. */
export function noticedBudgets(budgets: readonly OwnedBudget[], states: NoticeStates): readonly OwnedBudget[] {
  if (budgets.every(({ caller }) => caller === null)) return budgets;
  const isOfPeriod = (occurrence: string, beganAtMs: number): boolean => occurrence.startsWith(`${beganAtMs} `);
  const counts = new Map<string, number>();
  return budgets.filter((budget) => {
    const { accountId, owner, caller, period, beganAtMs } = budget;
    const state = states.get(subjectOf(budget));
    const isNoticed = state !== undefined && isOfPeriod(state.occurrence, beganAtMs);
    // The budget that many values share is always noticed.
    if (caller === null || caller.value === null || isNoticed) return true;
    const prefix = `budget ${accountId} ${owner.id} ${period} `;
    const stored = () =>
      [...states.values()].filter((s) => s.subject.startsWith(prefix) && isOfPeriod(s.occurrence, beganAtMs)).length;
    const count = counts.get(prefix) ?? stored();
    counts.set(prefix, count + 1);
    return count < NOTICED_CALLERS_MAX;
  });
}

/** A budget as notices and the account API show it. */
export function shownBudget({ owner, caller, model, period, capNano, spentNano, freesAtMs }: OwnedBudget) {
  return {
    scope: caller?.kind ?? (owner.prefix === null ? ('member' as const) : ('key' as const)),
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
