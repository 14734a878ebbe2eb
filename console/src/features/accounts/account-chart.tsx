import { useWholeList } from '../../api/queries.ts';
import { dayIn, lastDays, usageRange } from '../../parts/days.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import type { UsageGroup } from '../../parts/usage/usage-group.ts';
import type { UsagePart } from '../../parts/usage/usage-parts.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { accountTexts } from './summary-texts.ts';

const DAYS = 30;

/** Net charge of an account by day and model. */
export function AccountChart({ accountId }: { readonly accountId: string }) {
  const text = useTexts(accountTexts);
  const { billingTimezone } = useSession();
  const range = lastDays(DAYS, dayIn(billingTimezone, Date.now()));
  const query = { ...usageRange(range), accountId, groupBy: 'day,model' };
  const usage = useWholeList('GET /admin/v1/usage', { query });
  if (usage.data === undefined) return <ReadState read={usage} />;
  // A month of a plan has a group without calls for each day.
  const groups = usage.data.items.filter(({ calls }) => calls > 0);
  if (groups.length === 0) return <EmptyState title={text.noCalls} hint={text.noCallsHint} />;
  return (
    <UsageByDay
      groups={groups}
      from={range.from}
      to={range.to}
      measure="charge"
      partOf={modelOf}
      label={text.chartLabel}
      heightPx={200}
    />
  );
}

const modelOf = ({ model }: UsageGroup): UsagePart => ({ id: model ?? '', name: model ?? '–' });
