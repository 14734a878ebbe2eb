import '@mantine/charts/styles.css';
import { AreaChart } from '@mantine/charts';
import { Box, useMatches } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

const LABELS_MAX = { base: 4, sm: 7 };

/** Calls of the last hour, by the minute in which they started. */
export function CallsByMinute() {
  const text = useTexts(liveTexts);
  const format = useFormat();
  const labelsMax = useMatches(LABELS_MAX, { getInitialValueInEffect: false });
  const minutes = useRead('GET /admin/v1/calls/minutes', {}, { isLive: true });
  if (minutes.data === undefined) return <ReadState read={minutes} />;
  const { data } = minutes.data;
  if (data.every(({ calls }) => calls === 0)) return <EmptyState title={text.noRecent} hint={text.noRecentHint} />;
  return (
    <Box role="img" aria-label={text.perMinuteLabel}>
      <AreaChart
        h={160}
        data={[...data]}
        dataKey="minute"
        series={[{ name: 'calls', label: text.perMinute, color: 'cyan.7' }]}
        curveType="linear"
        withDots={false}
        areaProps={{ isAnimationActive: false }}
        valueFormatter={format.count}
        xAxisProps={{
          interval: Math.ceil(data.length / labelsMax) - 1,
          tickFormatter: (at: string) => format.hour(at, false),
        }}
        yAxisProps={{
          width: 56,
          allowDecimals: false,
          // All of the few ticks, so that their distances are equal.
          interval: 0,
          tickFormatter: format.shortCount,
        }}
        tooltipProps={{
          // Without a minute under the pointer there is no label.
          labelFormatter: (at) => (at === undefined ? '' : format.hour(String(at), false)),
        }}
      />
    </Box>
  );
}
