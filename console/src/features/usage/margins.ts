import type { UsageGroup } from '../../api/types.ts';
import type { Format } from '../../text/written.ts';
import type { operatorUsageTexts } from './operator-texts.ts';

/** The margins of a group, by the words for them. */
export const MARGINS = [
  { label: 'balanceMargin', amount: 'balanceMarginYuan' },
  { label: 'ofPlans', amount: 'planMarginYuan' },
  { label: 'margin', amount: 'marginYuan' },
] as const;

/** Why a margin is not known: some calls have no cost, or what plans earned is of no such group. */
export function unknownMargin(
  { callsWithoutCost }: Pick<UsageGroup, 'callsWithoutCost'>,
  text: (typeof operatorUsageTexts)['en'],
  format: Format,
): string {
  return callsWithoutCost === 0 ? text.revenueUnknown : text.callsWithoutCost(format.count(callsWithoutCost));
}
