import { Group, RingProgress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { PlanRemainder } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useNowMs } from '../figures.tsx';
import { DimmedText } from '../small.ts';
import { percentLeft } from './percent-left.ts';
import { ringTexts } from './texts.ts';

interface RingProps {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  readonly figures: string;
  /** When the limit resets. */
  readonly recovery: string | null;
}

function Ring({ name, used, limit, figures, recovery }: RingProps) {
  const format = useFormat();
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  const percent = format.percent(percentLeft(used, limit) / 100);
  const color = share >= 1 ? 'red.7' : share >= 0.8 ? 'orange.6' : 'cyan.7';
  return (
    <Group wrap="nowrap" gap="sm">
      <RingProgress
        size={88}
        thickness={9}
        roundCaps={share > 0 && share < 1}
        sections={[{ value: (1 - share) * 100, color }]}
        aria-hidden
        label={
          <Text ta="center" size="sm" fw={700} className="figure">
            {percent}
          </Text>
        }
      />
      <Stack gap={0} miw={0}>
        <Text fw={600}>{name}</Text>
        <Text size="sm" className="figure">
          {figures}
        </Text>
        <DimmedText>{recovery}</DimmedText>
      </Stack>
    </Group>
  );
}

/** The limits of a Coding Plan, each with its remaining amount and reset. Empty without a plan. */
export function PlanRings({ plan }: { readonly plan: PlanRemainder }) {
  const text = useTexts(ringTexts);
  const format = useFormat();
  const nowMs = useNowMs();
  const { fiveHour, weekly, quota, concurrency } = plan;
  const when = (at: string): string => `${format.relative(at, nowMs)} · ${format.instant(at)}`;
  const windowOf = ({ used, limit, remaining }: NonNullable<PlanRemainder['weekly' | 'fiveHour']>) => {
    return { used, limit, figures: text.calls(format.count(remaining), format.count(limit)) };
  };
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, xl: 4 }}>
      {fiveHour !== null && (
        <Ring
          name={text.fiveHour}
          {...windowOf(fiveHour)}
          recovery={
            fiveHour.moreAt === null
              ? text.sliding
              : text.moreAt[fiveHour.roomAt === null ? 'more' : 'room'](when(fiveHour.moreAt))
          }
        />
      )}
      {weekly !== null && (
        <Ring name={text.weekly} {...windowOf(weekly)} recovery={text.resetsAt(when(weekly.resetAt))} />
      )}
      {quota !== null && (
        <Ring
          name={text.quota}
          used={quota.usedTokens}
          limit={quota.limitTokens}
          figures={text.tokens(format.shortCount(quota.remainingTokens), format.exactCount(quota.limitTokens))}
          recovery={text.resetsAt(when(quota.resetAt))}
        />
      )}
      {concurrency !== null && (
        <Ring
          name={text.concurrency}
          used={concurrency.inFlight}
          limit={concurrency.limit}
          figures={text.free(
            // The limit may have been lowered below the calls in flight.
            format.count(Math.max(0, concurrency.limit - concurrency.inFlight)),
            format.count(concurrency.limit),
          )}
          recovery={null}
        />
      )}
    </SimpleGrid>
  );
}
