import { useMemo } from 'react';
import { useWholeList } from '../../api/queries.ts';
import { lastDays, usageRange } from '../../parts/date-range.tsx';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { daysOf, UsageByDay } from '../../parts/usage-charts.tsx';
import type { UsageGroup } from '../../parts/usage-group.ts';
import { useTexts } from '../../text/language.tsx';
import { overviewTexts } from './texts.ts';

const DAYS = 14;

/** The charge of the last two weeks, by model. */
export function ChargeByDay() {
  const text = useTexts(overviewTexts);
  const range = useMemo(() => lastDays(DAYS, undefined, Date.now()), []);
  const usage = useWholeList('GET /account/v1/usage', { query: { ...usageRange(range), groupBy: 'day,model' } });
  if (usage.isPending) return <Loading />;
  if (usage.data === undefined) return <ErrorNotice error={usage.error} onRetry={() => void usage.refetch()} />;
  return (
    <UsageByDay
      groups={usage.data.items}
      days={daysOf(range.from, range.to)}
      measure="charge"
      partOf={modelOf}
      label={text.chartLabel}
      heightPx={220}
    />
  );
}

const modelOf = ({ model }: UsageGroup): string => model ?? '–';
