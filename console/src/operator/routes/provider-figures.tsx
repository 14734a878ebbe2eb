import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { UsageGroup } from '../../api/types.ts';
import { type DateRange, dayAfter } from '../../parts/days.ts';
import { Yuan } from '../../parts/figures.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

/** What calls over a provider came to in some days. */
export interface ProviderFigures {
  readonly sums: UsageGroup;
  readonly failed: number;
}

const GROUPS_MAX = 500;

/** The figures of all providers, by their names. */
export function useProviderFigures({ from, to }: DateRange): ReadonlyMap<string, ProviderFigures> {
  const query = { from, to: dayAfter(to), limit: GROUPS_MAX };
  const sums = useRead('GET /admin/v1/usage', { query: { ...query, groupBy: 'provider' } });
  const failed = useRead('GET /admin/v1/usage', { query: { ...query, groupBy: 'provider', status: 'failed' } });
  const failedOf = new Map((failed.data?.data ?? []).map(({ provider, calls }) => [provider, calls]));
  return new Map(
    (sums.data?.data ?? []).map((group) => [
      group.provider ?? '',
      { sums: group, failed: failedOf.get(group.provider) ?? 0 },
    ]),
  );
}

/** A line of the figures of one provider. */
export function FiguresOfProvider({ figures }: { readonly figures: ProviderFigures | undefined }) {
  const text = useTexts(routesTexts);
  const format = useFormat();
  const calls = figures?.sums.calls ?? 0;
  return (
    <Group gap="xl">
      <Figure label={text.calls}>{format.count(calls)}</Figure>
      <Figure label={text.errorRate}>
        {figures === undefined || calls === 0
          ? '–'
          : `${format.percent(figures.failed / calls)} (${format.count(figures.failed)})`}
      </Figure>
      <Figure label={text.charge}>
        <Yuan amount={figures?.sums.netChargeYuan ?? null} isShort />
      </Figure>
      <Figure label={text.cost}>
        <Yuan amount={figures?.sums.costYuan ?? null} isShort />
      </Figure>
      <Figure label={text.margin}>
        {figures !== undefined && figures.sums.marginYuan === null ? (
          <Text span size="sm">
            {text.marginUnknown(figures.sums.callsWithoutCost)}
          </Text>
        ) : (
          <Yuan amount={figures?.sums.marginYuan ?? null} isShort />
        )}
      </Figure>
    </Group>
  );
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={0}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="div" fw={600} className="figure">
        {children}
      </Text>
    </Stack>
  );
}
