import type { UsageGroup } from '../../api/types.ts';
import type { Format } from '../../text/written.ts';
import type { operatorUsageTexts } from './operator-texts.ts';

export const MARGINS = [
  { label: 'balanceMargin', amount: 'balanceMarginYuan' },
  { label: 'ofPlans', amount: 'planMarginYuan' },
  { label: 'margin', amount: 'marginYuan' },
] as const;

/** Why a margin is unknown: calls without a cost, or plan revenue that the grouping cannot attribute. */
export function unknownMargin(
  { callsWithoutCost }: Pick<UsageGroup, 'callsWithoutCost'>,
  text: (typeof operatorUsageTexts)['en'],
  format: Format,
): string {
  return callsWithoutCost === 0 ? text.revenueUnknown : text.callsWithoutCost(format.count(callsWithoutCost));
}
