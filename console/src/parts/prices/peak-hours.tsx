import { Box, Group, Stack, Text } from '@mantine/core';
import type { OwnModel } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { useNowMs } from '../figures.tsx';
import { DAY_MINUTES, minuteIn, partsOfDay, writeRange } from './price-lines.ts';
import { priceTexts } from './texts.ts';

const HOURS = [0, 6, 12, 18, 24] as const;

/** A day in the model's time zone with its peak hours and the current time. */
export function PeakHours({ timeOfDay }: { readonly timeOfDay: NonNullable<OwnModel['timeOfDay']> }) {
  const text = useTexts(priceTexts);
  const { timezone, peakHours } = timeOfDay;
  const nowMinute = minuteIn(timezone, useNowMs());
  const ranges = peakHours.map(writeRange).join(', ');
  const share = (minute: number): string => `${(minute / DAY_MINUTES) * 100}%`;
  return (
    <Stack gap={4}>
      <Text size="sm">{text.peakHours(ranges, timezone)}</Text>
      <Box
        role="img"
        aria-label={text.dayLabel(
          ranges,
          timezone,
          writeRange({ fromMinute: nowMinute, toMinute: nowMinute }).slice(0, 5),
        )}
        pos="relative"
        h={18}
        bg="var(--mantine-color-cyan-light)"
        style={{ borderRadius: 4, overflow: 'hidden' }}
      >
        {partsOfDay(peakHours).map(({ fromMinute, toMinute }) => (
          <Box
            key={fromMinute}
            pos="absolute"
            top={0}
            bottom={0}
            left={share(fromMinute)}
            w={share(toMinute - fromMinute)}
            bg="orange.5"
          />
        ))}
        <Box pos="absolute" top={0} bottom={0} left={share(nowMinute)} w={2} bg="var(--mantine-color-text)" />
      </Box>
      <Group justify="space-between" aria-hidden>
        {HOURS.map((hour) => (
          <Text key={hour} size="xs" c="dimmed" className="figure">
            {String(hour).padStart(2, '0')}:00
          </Text>
        ))}
      </Group>
    </Stack>
  );
}
