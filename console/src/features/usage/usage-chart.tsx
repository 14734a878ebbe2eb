import { Stack, Text } from '@mantine/core';
import type { QueryOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import { useTexts } from '../../text/language.tsx';
import { operatorUsageTexts } from './operator-texts.ts';
import { usePartOf } from './part-of.ts';
import { dimensionsOf, type Grouping, usageTexts } from './texts.ts';
import type { UsagePlace } from './usage-place.ts';

interface UsageChartProps {
  readonly asked: QueryOf<'GET /admin/v1/usage'>;
  readonly place: UsagePlace<Grouping>;
}

/** The maximum page size. */
const GROUPS_MAX = 500;

/** Bars by day, split by group if all groups fit in one page. */
export function UsageChart({ asked, place: { range, by, measure } }: UsageChartProps) {
  const text = useTexts(operatorUsageTexts);
  const words = useTexts(usageTexts);
  const partOf = usePartOf(by);
  const isDivided = by !== 'day';
  const divided = useRead(
    'GET /admin/v1/usage',
    { query: { ...asked, groupBy: `day,${dimensionsOf(by)}`, limit: GROUPS_MAX } },
    { isWanted: isDivided },
  );
  const isWhole = isDivided && divided.data?.nextCursor === null;
  const byDay = useRead(
    'GET /admin/v1/usage',
    { query: { ...asked, groupBy: 'day', limit: GROUPS_MAX } },
    { isWanted: !isDivided || (divided.data !== undefined && !isWhole) },
  );
  const groups = isWhole ? divided.data?.data : byDay.data?.data;
  const label = { ...words, charge: words.netCharge }[measure];
  const error = byDay.error ?? divided.error;
  if (error !== null) return <ErrorNotice error={error} />;
  if (groups === undefined || (isDivided && divided.data === undefined)) return <Loading />;
  return (
    <Stack gap="xs">
      <UsageByDay
        groups={groups}
        from={range.from}
        to={range.to}
        measure={measure}
        partOf={isWhole ? partOf : null}
        label={text.chartOf(label)}
      />
      {isDivided && !isWhole && <Text size="sm">{text.undivided}</Text>}
    </Stack>
  );
}
