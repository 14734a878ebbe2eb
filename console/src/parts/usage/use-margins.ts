import { useWholeList } from '../../api/queries.ts';
import type { UsageGroup } from '../../api/types.ts';
import { dayIn, lastDays, usageRange } from '../days.ts';

/** The period of margins in lists, long enough for a stable figure. */
export const MARGIN_DAYS = 30;

const MEMBERS = { model: 'model', group: 'groupId' } as const;

/** Sums of the last days by model, or by the group of accounts; empty until they are loaded. */
export function useMargins(by: keyof typeof MEMBERS, billingTimezone: string): ReadonlyMap<string, UsageGroup> {
  const range = usageRange(lastDays(MARGIN_DAYS, dayIn(billingTimezone, Date.now())));
  const sums = useWholeList('GET /admin/v1/usage', { query: { ...range, groupBy: by } });
  return new Map((sums.data?.items ?? []).map((group) => [group[MEMBERS[by]] ?? '', group]));
}
