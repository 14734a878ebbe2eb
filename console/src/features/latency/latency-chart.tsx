import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { Box, useMatches } from '@mantine/core';
import type { LatencyGroup } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { greatestMs, hasPercentiles, type LatencyMeasure, pointOf, writeMeasure } from './measures.ts';
import { latencyTexts } from './texts.ts';

/** Labels of hours with their day are wide. */
const LABELS_MAX = { base: 3, sm: 8 };
const DAY_MS = 86_400_000;

interface LatencyChartProps {
  readonly groups: readonly LatencyGroup[];
  readonly measure: LatencyMeasure;
}

export function LatencyChart({ groups, measure }: LatencyChartProps) {
  const text = useTexts(latencyTexts);
  const format = useFormat();
  const labelsMax = useMatches(LABELS_MAX, { getInitialValueInEffect: false });
  const data = groups.map((group) => pointOf(group.day ?? group.hour ?? '', group, measure));
  const hasDays = spanMs(groups) > DAY_MS;
  const writeAt = (at: string): string => (at.includes('T') ? format.hour(at, hasDays) : at.slice('YYYY-'.length));
  const likeMs = measure === 'firstByte' ? greatestMs(groups, 'firstByteMs') : greatestMs(groups, 'durationMs');
  const isOfTimes = hasPercentiles(measure);
  return (
    <Box role="img" aria-label={text.chartOf(text.measures[measure])}>
      <LineChart
        h={240}
        data={data}
        dataKey="at"
        series={[
          { name: 'p50', label: isOfTimes ? text.p50 : text.measures[measure], color: 'cyan.7' },
          ...(isOfTimes ? [{ name: 'p95', label: text.p95, color: 'orange.6' }] : []),
        ]}
        withLegend={isOfTimes}
        curveType="linear"
        lineProps={{ isAnimationActive: false }}
        valueFormatter={(value) => writeMeasure(value, measure, likeMs, format)}
        xAxisProps={{
          interval: Math.max(0, Math.ceil(data.length / labelsMax) - 1),
          tickFormatter: writeAt,
          // Room for the half of the last label.
          padding: { right: 24 },
        }}
        tooltipProps={{ labelFormatter: (at) => (at === undefined ? '' : writeAt(String(at))) }}
        yAxisProps={{ width: 80 }}
      />
    </Box>
  );
}

/** The time between the first and the last hour. */
function spanMs(groups: readonly LatencyGroup[]): number {
  const [first, last] = [groups[0]?.hour, groups.at(-1)?.hour];
  return first === undefined || last === undefined ? 0 : Date.parse(last) - Date.parse(first);
}
