import '@mantine/charts/styles.css';
import { BarChart, DonutChart } from '@mantine/charts';
import { Box, Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useFormat } from '../text/format.ts';
import { defineTexts, useTexts } from '../text/language.tsx';
import type { UsageGroup } from './usage-group.ts';

/** What a chart shows of each group. */
export type UsageMeasure = 'charge' | 'calls' | 'tokens';

const texts = defineTexts({ others: 'Others', total: 'Total' }, { others: '其他', total: '合计' });
const COLORS = ['cyan.7', 'orange.6', 'teal.6', 'grape.6', 'blue.6', 'lime.7', 'pink.6', 'yellow.7'] as const;
const OTHERS_COLOR = 'gray.5';

/** The figure of a group. Money becomes a number here, to be drawn; nothing is counted with it. */
export function measureOf(group: UsageGroup, measure: UsageMeasure): number {
  switch (measure) {
    case 'charge':
      return Number(group.netChargeYuan);
    case 'calls':
      return group.calls;
    case 'tokens':
      return tokensOf(group);
  }
}

/** All tokens in and out; reasoning tokens are among the output. */
export function tokensOf({ usage }: Pick<UsageGroup, 'usage'>): number {
  return Object.entries(usage)
    .filter(([unit]) => unit.endsWith('Tokens') && unit !== 'reasoningTokens')
    .reduce((sum, [, count]) => sum + count, 0);
}

interface UsageByDayProps {
  /** Grouped by day, and by what the bars are made of. */
  readonly groups: readonly UsageGroup[];
  /** The days of the range, so that those without a call are seen too. */
  readonly days: readonly string[];
  readonly measure: UsageMeasure;
  /** The name of the part of a bar; `null`: bars have one part. */
  readonly partOf: ((group: UsageGroup) => string) | null;
  /** What the chart shows, for screen readers; a table beside it has the figures. */
  readonly label: string;
  readonly heightPx?: number;
}

/** Bars by day, made of the greatest parts and all others. */
export function UsageByDay({ groups, days, measure, partOf, label, heightPx = 260 }: UsageByDayProps) {
  const text = useTexts(texts);
  const format = useFormat();
  const { data, series } = useMemo(() => {
    const nameOf = partOf ?? (() => text.total);
    const names = greatest(groups, nameOf, measure);
    const rows = new Map<string, Record<string, number | string>>(days.map((day) => [day, { day }]));
    for (const group of groups) {
      const row = rows.get(group.day ?? '');
      if (row === undefined) continue;
      const name = names.includes(nameOf(group)) ? nameOf(group) : text.others;
      row[name] = Number(row[name] ?? 0) + measureOf(group, measure);
    }
    const hasOthers = [...rows.values()].some((row) => text.others in row);
    return {
      data: [...rows.values()],
      series: [
        ...names.map((name, index) => ({ name, color: COLORS[index]! })),
        ...(hasOthers && !names.includes(text.others) ? [{ name: text.others, color: OTHERS_COLOR }] : []),
      ],
    };
  }, [groups, days, measure, partOf, text]);
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
        yAxisProps={{ width: 72, tickFormatter: (value: number) => writeTick(value, measure, format) }}
        maxBarWidth={36}
        barProps={{ isAnimationActive: false }}
      />
    </Box>
  );
}

interface UsageSharesProps {
  readonly groups: readonly UsageGroup[];
  readonly measure: UsageMeasure;
  readonly partOf: (group: UsageGroup) => string;
  readonly label: string;
}

/** The shares of the whole range, with their figures. */
export function UsageShares({ groups, measure, partOf, label }: UsageSharesProps) {
  const text = useTexts(texts);
  const format = useFormat();
  const data = useMemo(() => {
    const names = greatest(groups, partOf, measure);
    const sums = new Map<string, number>();
    for (const group of groups) {
      const name = names.includes(partOf(group)) ? partOf(group) : text.others;
      sums.set(name, (sums.get(name) ?? 0) + measureOf(group, measure));
    }
    return [...names, text.others].flatMap((name, index) => {
      const value = sums.get(name) ?? 0;
      return value === 0 ? [] : [{ name, value, color: index < names.length ? COLORS[index]! : OTHERS_COLOR }];
    });
  }, [groups, measure, partOf, text]);
  const total = data.reduce((sum, { value }) => sum + value, 0);
  return (
    <Group gap="xl" align="center">
      <Box role="img" aria-label={label}>
        <DonutChart data={data} size={150} thickness={24} withTooltip={false} pieProps={{ isAnimationActive: false }} />
      </Box>
      <Stack gap={4} flex={1} miw={200}>
        {data.map(({ name, value, color }) => (
          <Group key={name} justify="space-between" wrap="nowrap" gap="sm">
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

/** The names with the greatest sums, as many as there are colours. */
function greatest(
  groups: readonly UsageGroup[],
  nameOf: (group: UsageGroup) => string,
  measure: UsageMeasure,
): string[] {
  const sums = new Map<string, number>();
  for (const group of groups) sums.set(nameOf(group), (sums.get(nameOf(group)) ?? 0) + measureOf(group, measure));
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, COLORS.length)
    .map(([name]) => name);
}

/** Ticks are round numbers; those of amounts below a yuan have all of their decimals. */
function writeTick(value: number, measure: UsageMeasure, format: ReturnType<typeof useFormat>): string {
  return measure === 'charge' && value < 1000 ? writeMeasure(value, measure, format) : format.shortCount(value);
}

function writeMeasure(value: number, measure: UsageMeasure, format: ReturnType<typeof useFormat>): string {
  return measure === 'charge' ? format.yuan(value.toFixed(6).replace(/\.?0+$/, ''), true) : format.count(value);
}
