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
import { colorOfPart, writeMeasure } from './usage-chart-marks.ts';
import type { UsageGroup } from './usage-group.ts';
import { barsOf, type PartOf, type UsageMeasure } from './usage-parts.ts';

/** Half the height of the label beside the top line. */
const TOP_TICK_HALF_PX = 8;
const FADED_OPACITY = 0.1;
/** How many days below the chart are labelled at most. Left to choose, the library would measure every label. */
const DAY_LABELS_MAX = { base: 5, sm: 10 };

interface UsageByDayProps {
  /** Grouped by day, and by what the bars are made of. */
  readonly groups: readonly UsageGroup[];
  /** The first and the last day, so that days without a call are seen too. */
  readonly from: string;
  readonly to: string;
  readonly measure: UsageMeasure;
  /** What a bar is made of; `null`: bars have one part. */
  readonly partOf: PartOf | null;
  /** What the chart shows, for screen readers; a table beside it has the figures. */
  readonly label: string;
  readonly heightPx?: number;
}

/** Bars by day, made of the greatest parts and all others. Drawing takes long, so they are drawn anew only if they differ. */
export const UsageByDay = memo(function UsageByDay(props: UsageByDayProps) {
  const { groups, from, to, measure, partOf, label, heightPx = 260 } = props;
  const text = useTexts(commonTexts);
  const format = useFormat();
  const [pointedAt, setPointedAt] = useState<string | number | null>(null);
  const { data, series } = useMemo(() => {
    const whole = { id: '', name: text.total };
    const { bars, parts } = barsOf(groups, daysOf({ from, to }), measure, partOf ?? (() => whole));
    const series = parts.map((part, place) => ({
      name: `part${place}`,
      label: part?.name ?? text.others,
      color: colorOfPart(place),
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
        // Below the chart, not within: there its height is known only when all is drawn, and all is drawn again.
        <ChartLegend
          // By itself it is as high as all around it, and most of it would be cut off.
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

/** The grid has lines across only; for others the library would measure the labels of all days. */
const noLines = (): number[] => [];

/** A part of a bar: a bare rectangle, where the library's own would be ready to move. */
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

/** Ticks are round numbers; those of amounts below a yuan have all of their decimals. */
function writeTick(value: number, measure: UsageMeasure, format: Format): string {
  return measure === 'charge' && value < 1000 ? writeMeasure(value, measure, format) : format.shortCount(value);
}
