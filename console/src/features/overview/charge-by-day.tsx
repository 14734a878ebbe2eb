import { useWholeList } from '../../api/queries.ts';
import { lastDays, usageRange } from '../../parts/days.ts';
import { ReadState } from '../../parts/notices.tsx';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import type { UsageGroup } from '../../parts/usage/usage-group.ts';
import type { UsagePart } from '../../parts/usage/usage-parts.ts';
import { useTexts } from '../../text/language.tsx';
import { overviewTexts } from './texts.ts';

const DAYS = 14;

export function ChargeByDay({ today }: { readonly today: string }) {
  const text = useTexts(overviewTexts);
  const range = lastDays(DAYS, today);
  const usage = useWholeList('GET /account/v1/usage', { query: { ...usageRange(range), groupBy: 'day,model' } });
  if (usage.data === undefined) return <ReadState read={usage} />;
  return (
    <UsageByDay
      groups={usage.data.items}
      from={range.from}
      to={range.to}
      measure="charge"
      partOf={modelOf}
      label={text.chartLabel}
      heightPx={220}
    />
  );
}

const modelOf = ({ model }: UsageGroup): UsagePart => ({ id: model ?? '', name: model ?? '–' });
