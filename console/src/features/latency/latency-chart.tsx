import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { Box } from '@mantine/core';
import type { LatencyGroup } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { hasPercentiles, type LatencyMeasure, pointOf, writeMeasure } from './measures.ts';
import { latencyTexts } from './texts.ts';

const LABELS_MAX = 8;

interface LatencyChartProps {
  readonly groups: readonly LatencyGroup[];
  readonly measure: LatencyMeasure;
}

export function LatencyChart({ groups, measure }: LatencyChartProps) {
  const text = useTexts(latencyTexts);
  const format = useFormat();
  const data = groups.map((group) => {
    const at = group.day ?? (group.hour === undefined ? '' : format.instant(group.hour).slice(5, 16));
    return { ...pointOf(at, group, measure) };
  });
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
        valueFormatter={(value) => writeMeasure(value, measure, format, text)}
        xAxisProps={{ interval: Math.max(0, Math.ceil(data.length / LABELS_MAX) - 1) }}
        yAxisProps={{ width: 80 }}
      />
    </Box>
  );
}
