import { Stack, Text } from '@mantine/core';
import { useCallback } from 'react';
import type { QueryOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { UsageGroup } from '../../api/types.ts';
import { useStatusTexts } from '../../parts/calls/status-badge.tsx';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { operatorUsageTexts } from './operator-texts.ts';
import type { Grouping, UsagePlace } from './usage-place.ts';

interface UsageChartProps {
  readonly asked: QueryOf<'GET /admin/v1/usage'>;
  readonly place: UsagePlace;
}

/** As many groups as a page of the list has at most. */
const GROUPS_MAX = 500;

/** The days as bars, made of the groups where one page has all of these. */
export function UsageChart({ asked, place: { range, by, measure } }: UsageChartProps) {
  const text = useTexts(operatorUsageTexts);
  const nameOf = useGroupName(by);
  const partOf = useCallback(
    (group: NamedGroup) => ({ id: (by === 'account' ? group.accountId : group[by]) ?? '', name: nameOf(group) }),
    [by, nameOf],
  );
  const isDivided = by !== 'day';
  const divided = useRead(
    'GET /admin/v1/usage',
    { query: { ...asked, groupBy: `day,${by}`, limit: GROUPS_MAX } },
    { isWanted: isDivided },
  );
  const isWhole = isDivided && divided.data?.nextCursor === null;
  const byDay = useRead(
    'GET /admin/v1/usage',
    { query: { ...asked, groupBy: 'day', limit: GROUPS_MAX } },
    { isWanted: !isDivided || (divided.data !== undefined && !isWhole) },
  );
  const groups = isWhole ? divided.data?.data : byDay.data?.data;
  const label = { charge: text.netCharge, calls: text.calls, tokens: text.tokens }[measure];
  const error = byDay.error ?? divided.error;
  if (error !== null) return <ErrorNotice error={error} />;
  if (groups === undefined || (isDivided && divided.data === undefined)) return <Loading />;
  return (
    <Stack gap="xs">
      <UsageByDay
        groups={groups}
        from={range.from}
        to={range.to}
        measure={measure}
        partOf={isWhole ? partOf : null}
        label={text.chartOf(label)}
      />
      {isDivided && !isWhole && <Text size="sm">{text.undivided}</Text>}
    </Stack>
  );
}

type NamedGroup = Partial<Pick<UsageGroup, 'day' | 'model' | 'provider' | 'status' | 'accountId' | 'accountName'>>;

/** The name of a group in charts. */
export function useGroupName(by: Grouping) {
  const { none } = useTexts(operatorUsageTexts);
  const statuses = useStatusTexts();
  return useCallback(
    (group: NamedGroup): string => {
      if (by === 'account') return group.accountName ?? group.accountId ?? none;
      if (by === 'status') return ownValue(statuses, group.status ?? '') ?? none;
      return group[by] ?? none;
    },
    [by, none, statuses],
  );
}
