import '@mantine/charts/styles.css';
import { BarChart, DonutChart } from '@mantine/charts';
import { Box, Group, Stack, Text } from '@mantine/core';
import { memo, useMemo } from 'react';
import { useFormat } from '../text/format.ts';
import { defineTexts, useTexts } from '../text/language.tsx';
import { daysOf } from './days.ts';
import type { UsageGroup } from './usage-group.ts';
import { barsOf, type PartOf, sharesOf, type UsageMeasure } from './usage-parts.ts';

const texts = defineTexts({ others: 'Others', total: 'Total' }, { others: '其他', total: '合计' });
/** As many as `PARTS_MAX`. */
const COLORS: readonly string[] = ['cyan.7', 'orange.6', 'teal.6', 'grape.6', 'blue.6', 'lime.7', 'pink.6', 'yellow.7'];
const OTHERS_COLOR = 'gray.5';
/** Half the height of the label beside the top line. */
const TOP_TICK_HALF_PX = 8;

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

/** Bars by day, made of the greatest parts and all others. Drawing takes long, so they are drawn anew only where they differ. */
export const UsageByDay = memo(function UsageByDay(props: UsageByDayProps) {
  const { groups, from, to, measure, partOf, label, heightPx = 260 } = props;
  const text = useTexts(texts);
  const format = useFormat();
  const { data, series } = useMemo(() => {
    const whole = { id: '', name: text.total };
    const { bars, parts } = barsOf(groups, daysOf({ from, to }), measure, partOf ?? (() => whole));
    const series = parts.map((part, place) => ({
      name: `part${place}`,
      label: part?.name ?? text.others,
      color: COLORS[place] ?? OTHERS_COLOR,
    }));
    return { data: [...bars], series };
  }, [groups, from, to, measure, partOf, text]);
  return (
    <Box role="img" aria-label={label}>
      <BarChart
        h={heightPx}
        data={data}
        dataKey="day"
        series={series}
        type="stacked"
        withLegend={series.length > 1}
        legendProps={{ verticalAlign: 'bottom' }}
        valueFormatter={(value) => writeMeasure(value, measure, format)}
        xAxisProps={{ tickFormatter: (day: string) => day.slice(5), minTickGap: 16 }}
        yAxisProps={{ width: 72, interval: 0, tickFormatter: (value: number) => writeTick(value, measure, format) }}
        barChartProps={{ margin: { top: TOP_TICK_HALF_PX } }}
        maxBarWidth={36}
        barProps={{ isAnimationActive: false }}
      />
    </Box>
  );
});

interface UsageSharesProps {
  readonly groups: readonly UsageGroup[];
  readonly measure: UsageMeasure;
  readonly partOf: PartOf;
  readonly label: string;
}

/** The shares of the whole range, with their figures. */
export function UsageShares({ groups, measure, partOf, label }: UsageSharesProps) {
  const text = useTexts(texts);
  const format = useFormat();
  const data = useMemo(
    () =>
      sharesOf(groups, measure, partOf).flatMap(({ part, value }, place) =>
        value === 0 ? [] : [{ name: part?.name ?? text.others, value, color: COLORS[place] ?? OTHERS_COLOR }],
      ),
    [groups, measure, partOf, text],
  );
  const total = data.reduce((sum, { value }) => sum + value, 0);
  return (
    <Group gap="xl" align="center">
      <Box role="img" aria-label={label}>
        <DonutChart data={data} size={150} thickness={24} withTooltip={false} pieProps={{ isAnimationActive: false }} />
      </Box>
      <Stack gap={4} flex={1} miw={200}>
        {data.map(({ name, value, color }) => (
          <Group key={color} justify="space-between" wrap="nowrap" gap="sm">
            <Group gap={8} wrap="nowrap" miw={0}>
              <Box w={10} h={10} bg={color} style={{ borderRadius: 2, flexShrink: 0 }} />
              <Text size="sm" truncate>
                {name}
              </Text>
            </Group>
            <Text size="sm" className="figure" style={{ whiteSpace: 'nowrap' }}>
              {writeMeasure(value, measure, format)} · {format.percent(total === 0 ? 0 : value / total)}
            </Text>
          </Group>
        ))}
      </Stack>
    </Group>
  );
}

/** Ticks are round numbers; those of amounts below a yuan have all of their decimals. */
function writeTick(value: number, measure: UsageMeasure, format: ReturnType<typeof useFormat>): string {
  return measure === 'charge' && value < 1000 ? writeMeasure(value, measure, format) : format.shortCount(value);
}

function writeMeasure(value: number, measure: UsageMeasure, format: ReturnType<typeof useFormat>): string {
  return measure === 'charge' ? format.yuan(value.toFixed(6).replace(/\.?0+$/, ''), true) : format.count(value);
}
