import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRead, useWholeList } from '../../api/queries.ts';
import type { Route, UsageGroup } from '../../api/types.ts';
import { type DateRange, usageRange } from '../../parts/days.ts';
import { Yuan } from '../../parts/figures.tsx';
import { SmallText } from '../../parts/small.ts';
import { MarginShare, MarginYuan } from '../../parts/usage/margin-share.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { routesTexts } from './texts.ts';

export interface ProviderFigures {
  readonly sums: UsageGroup;
  readonly failed: number;
}

const GROUPS_MAX = 500;

interface FiguresRead {
  /** By provider name, without providers that had no calls; `null` if unknown. */
  readonly byProvider: ReadonlyMap<string, ProviderFigures> | null;
  readonly error: Error | null;
  retry(): void;
}

export function useProviderFigures(range: DateRange): FiguresRead {
  const query = { ...usageRange(range), limit: GROUPS_MAX, groupBy: 'provider' };
  const sums = useRead('GET /admin/v1/usage', { query }, { isLive: true });
  const failed = useRead('GET /admin/v1/usage', { query: { ...query, status: 'failed' } }, { isLive: true });
  return {
    byProvider:
      sums.data === undefined || failed.data === undefined ? null : byProvider(sums.data.data, failed.data.data),
    error: sums.error ?? failed.error,
    retry: () => void Promise.all([sums.refetch(), failed.refetch()]),
  };
}

/** Sums of a model at a provider, which several routes can share; `undefined`: no calls, or not loaded. */
export function useRouteSums(range: DateRange): (route: RouteName) => UsageGroup | undefined {
  const sums = useWholeList('GET /admin/v1/usage', { query: { ...usageRange(range), groupBy: 'model,provider' } });
  const byRoute = new Map((sums.data?.items ?? []).map((group) => [`${group.model} ${group.provider}`, group]));
  return ({ model, provider }) => byRoute.get(`${model} ${provider}`);
}

type RouteName = Pick<Route, 'model' | 'provider'>;

function byProvider(sums: readonly UsageGroup[], failed: readonly UsageGroup[]): ReadonlyMap<string, ProviderFigures> {
  const failedOf = new Map(failed.map(({ provider, calls }) => [provider, calls]));
  return new Map(
    sums.map((group) => [group.provider ?? '', { sums: group, failed: failedOf.get(group.provider) ?? 0 }]),
  );
}

export function FiguresOfProvider({ figures }: { readonly figures: ProviderFigures | undefined | null }) {
  const text = useTexts(routesTexts);
  const format = useFormat();
  const calls = figures?.sums.calls ?? 0;
  return (
    <Group gap="xl">
      <Figure label={text.calls}>{figures === null ? '–' : format.count(calls)}</Figure>
      <Figure label={text.errorRate} hint={text.errorRateHint}>
        {figures == null || calls === 0
          ? '–'
          : `${format.percent(figures.failed / calls)} (${format.count(figures.failed)})`}
      </Figure>
      <Figure label={text.netCharge}>
        <Yuan amount={figures?.sums.netChargeYuan ?? null} isShort />
      </Figure>
      <Figure label={text.cost}>
        <Yuan amount={figures?.sums.costYuan ?? null} isShort />
      </Figure>
      <Figure label={text.balanceMargin}>
        {figures != null && figures.sums.balanceMarginYuan === null ? (
          <Text span size="sm">
            {text.marginUnknown(figures.sums.callsWithoutCost)}
          </Text>
        ) : (
          <MarginYuan amount={figures?.sums.balanceMarginYuan ?? null} />
        )}
      </Figure>
      <Figure label={text.marginShare}>
        <MarginShare sums={figures?.sums} />
      </Figure>
    </Group>
  );
}

interface FigureProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: ReactNode;
}

function Figure({ label, hint, children }: FigureProps) {
  return (
    <Stack gap={0}>
      <SmallText title={hint}>{label}</SmallText>
      <Text component="div" fw={600} className="figure">
        {children}
      </Text>
    </Stack>
  );
}
