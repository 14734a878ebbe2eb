import '@mantine/charts/styles.css';
import { DonutChart } from '@mantine/charts';
import { Box, Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { commonTexts } from '../../parts/texts.ts';
import { colorsOf, writeMeasure } from '../../parts/usage/usage-chart-marks.ts';
import type { UsageGroup } from '../../parts/usage/usage-group.ts';
import { type PartOf, sharesOf, type UsageMeasure } from '../../parts/usage/usage-parts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';

interface UsageSharesProps {
  readonly groups: readonly UsageGroup[];
  readonly measure: UsageMeasure;
  readonly partOf: PartOf;
  readonly label: string;
}

export function UsageShares({ groups, measure, partOf, label }: UsageSharesProps) {
  const text = useTexts(commonTexts);
  const format = useFormat();
  const data = useMemo(() => {
    const shares = sharesOf(groups, measure, partOf);
    const colors = colorsOf(shares.map(({ part }) => part));
    return shares.flatMap(({ part, value }, place) =>
      value === 0 ? [] : [{ id: part?.id ?? 'others', name: part?.name ?? text.others, value, color: colors[place]! }],
    );
  }, [groups, measure, partOf, text]);
  const total = data.reduce((sum, { value }) => sum + value, 0);
  return (
    <Group gap="xl" align="center">
      <Box role="img" aria-label={label}>
        <DonutChart data={data} size={150} thickness={24} withTooltip={false} pieProps={{ isAnimationActive: false }} />
      </Box>
      <Stack gap={4} flex={1} miw={200}>
        {data.map(({ id, name, value, color }) => (
          <Group key={id} justify="space-between" wrap="nowrap" gap="sm">
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
