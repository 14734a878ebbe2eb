import type { UsageGroup } from '../../api/types.ts';
import type { Format } from '../../text/written.ts';
import type { operatorUsageTexts } from './operator-texts.ts';

/** Why a margin is unknown: calls without a cost, or plan revenue that the grouping cannot attribute. */
export function unknownMargin(
  { callsWithoutCost }: Pick<UsageGroup, 'callsWithoutCost'>,
  text: (typeof operatorUsageTexts)['en'],
  format: Format,
): string {
  return callsWithoutCost === 0 ? text.revenueUnknown : text.callsWithoutCost(format.count(callsWithoutCost));
}
