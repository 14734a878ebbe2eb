import '@mantine/charts/styles.css';
import { BarChart, ChartLegend } from '@mantine/charts';
import { Box, useMatches } from '@mantine/core';
import { memo, useMemo, useState } from 'react';
import type { BarShapeProps } from 'recharts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import type { Format } from '../../text/written.ts';
import { daysOf } from '../days.ts';
import { commonTexts } from '../texts.ts';
import { colorsOf, writeMeasure } from './usage-chart-marks.ts';
import type { UsageGroup } from './usage-group.ts';
import { barsOf, type PartOf, type UsageMeasure } from './usage-parts.ts';

/** Half the height of the top label of the axis. */
const TOP_TICK_HALF_PX = 8;
const FADED_OPACITY = 0.1;
/** Maximum labels below the chart. Without it, the library measures every label. */
const DAY_LABELS_MAX = { base: 5, sm: 10 };

interface UsageByDayProps {
  /** By day, and by the part of bars if `partOf` is set. */
  readonly groups: readonly UsageGroup[];
  /** Both days are included, so that days without calls are shown. */
  readonly from: string;
  readonly to: string;
  readonly measure: UsageMeasure;
  /** The part of a group; `null` for undivided bars. */
  readonly partOf: PartOf | null;
  /** Label for screen readers. A table next to the chart has the figures. */
  readonly label: string;
  readonly heightPx?: number;
}

/** Bars by day, divided into the largest parts and the rest. Memoized, because rendering is slow. */
export const UsageByDay = memo(function UsageByDay(props: UsageByDayProps) {
  const { groups, from, to, measure, partOf, label, heightPx = 260 } = props;
  const text = useTexts(commonTexts);
  const format = useFormat();
  const [pointedAt, setPointedAt] = useState<string | number | null>(null);
  const { data, series } = useMemo(() => {
    const whole = { id: '', name: text.total };
    const { bars, parts } = barsOf(groups, daysOf({ from, to }), measure, partOf ?? (() => whole));
    const colors = colorsOf(parts);
    const series = parts.map((part, place) => ({
      name: `part${place}`,
      label: part?.name ?? text.others,
      color: colors[place]!,
    }));
    return { data: [...bars], series };
  }, [groups, from, to, measure, partOf, text]);
  const dayLabelsMax = useMatches(DAY_LABELS_MAX, { getInitialValueInEffect: false });
  const unlabelledBetween = Math.ceil(data.length / dayLabelsMax) - 1;
  return (
    <Box role="img" aria-label={label}>
      <BarChart
        h={heightPx}
        data={data}
        dataKey="day"
        series={series}
        type="stacked"
        valueFormatter={(value) => writeMeasure(value, measure, format)}
        gridProps={{ verticalCoordinatesGenerator: noLines }}
        xAxisProps={{ interval: unlabelledBetween, tickFormatter: (day: string) => day.slice(5) }}
        yAxisProps={{ width: 72, interval: 0, tickFormatter: (value: number) => writeTick(value, measure, format) }}
        barChartProps={{ margin: { top: TOP_TICK_HALF_PX } }}
        maxBarWidth={36}
        barProps={({ name }) => ({
          isAnimationActive: false,
          shape: BarPart,
          fillOpacity: pointedAt === null || pointedAt === name ? 1 : FADED_OPACITY,
        })}
      />
      {series.length > 1 && (
        // Outside the chart: inside, its height is known only after rendering, which repeats the rendering.
        <ChartLegend
          // The default height is that of the container, which would cut off most of the legend.
          h="auto"
          payload={series.map(({ name, color }) => ({
            dataKey: name,
            color: `var(--mantine-color-${color.replace('.', '-')})`,
          }))}
          series={series}
          legendPosition="bottom"
          onHighlight={setPointedAt}
        />
      )}
    </Box>
  );
});

/** Horizontal lines only: for vertical ones the library measures the labels of all days. */
const noLines = (): number[] => [];

/** A plain rectangle, because the library's own supports animation. */
function BarPart({ x, y, width, height, fill, fillOpacity }: BarShapeProps) {
  if (height === 0) return null;
  return (
    <rect
      x={x}
      y={Math.min(y, y + height)}
      width={width}
      height={Math.abs(height)}
      fill={fill}
      fillOpacity={fillOpacity}
    />
  );
}

/** Ticks are round numbers. Amounts below 1,000 yuan keep their decimals. */
function writeTick(value: number, measure: UsageMeasure, format: Format): string {
  return measure === 'charge' && value < 1000 ? writeMeasure(value, measure, format) : format.shortCount(value);
}
