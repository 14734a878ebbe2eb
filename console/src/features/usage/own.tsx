import { Alert, Button, Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useCallback, useMemo } from 'react';
import { useRead, useWholeList } from '../../api/queries.ts';
import { useStatusTexts } from '../../parts/calls/status-badge.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { DateRangePicker } from '../../parts/date-range.tsx';
import { isDay, lastDays, usageRange } from '../../parts/days.ts';
import { Yuan } from '../../parts/figures.tsx';
import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { PlaceLink, usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import type { UsageGroup } from '../../parts/usage/usage-group.ts';
import { keyPart, type PartOf, type UsageMeasure } from '../../parts/usage/usage-parts.ts';
import { sumGroups } from '../../parts/usage/usage-sums.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ownValue } from '../../text/own-value.ts';
import { usageTexts } from './own-texts.ts';
import { UsageShares } from './usage-shares.tsx';

const DIMENSIONS = ['model', 'key', 'status', 'context'] as const;
type Dimension = (typeof DIMENSIONS)[number];
const DAYS_AT_FIRST = 30;
const MEASURES: readonly UsageMeasure[] = ['charge', 'calls', 'tokens'];

/** What was used: charts by day and by what the person chooses, and the figures as a table and as CSV. */
export function UsagePage() {
  const text = useTexts(usageTexts);
  const account = useRead('GET /account/v1/account', {});
  if (account.data !== undefined) return <Usage today={account.data.today} />;
  return (
    <Page title={text.title} lead={text.lead}>
      <ErrorNotice error={account.error} onRetry={() => void account.refetch()} />
      {account.isPending && <Loading />}
    </Page>
  );
}

/** `today`: in the billing time zone. */
function Usage({ today }: { readonly today: string }) {
  const text = useTexts(usageTexts);
  const format = useFormat();
  const [query, change] = usePlaceQuery();
  const usual = lastDays(DAYS_AT_FIRST, today);
  const range = { from: isDay(query.from) ? query.from : usual.from, to: isDay(query.to) ? query.to : usual.to };
  const dimension = DIMENSIONS.find((each) => each === query.by) ?? 'model';
  const measure = MEASURES.find((each) => each === query.show) ?? 'charge';
  const asked = { ...usageRange(range), keyId: query.keyId, groupBy: `day,${dimension}` };
  const usage = useWholeList('GET /account/v1/usage', { query: asked });
  const groups = useMemo(() => usage.data?.items ?? [], [usage.data]);
  const partOf = usePartOf(dimension);
  const last = usage.data?.last;

  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <CsvButton
          endpoint="GET /account/v1/usage"
          input={{ query: asked }}
          fileName={`usage-${range.from}-${range.to}.csv`}
        />
      }
    >
      <Group align="flex-end" gap="md">
        <DateRangePicker value={range} onChange={(chosen) => change({ ...chosen })} today={today} />
        <Select
          label={text.by}
          data={DIMENSIONS.map((each) => ({ value: each, label: text[each] }))}
          value={dimension}
          onChange={(by) => change({ by })}
          allowDeselect={false}
          w={160}
        />
        <SegmentedControl
          aria-label={text.measure}
          data={MEASURES.map((each) => ({ value: each, label: text[each] }))}
          value={measure}
          onChange={(show) => change({ show })}
        />
      </Group>
      {query.keyId !== undefined && <OnlyKey keyId={query.keyId} onRemove={() => change({ keyId: null })} />}
      <ErrorNotice error={usage.error} onRetry={() => void usage.refetch()} />
      {usage.isPending && <Loading />}
      {usage.data !== undefined && groups.length === 0 && (
        <EmptyState title={text.nothing} hint={<PlaceLink to="/quickstart">{text.nothingHint}</PlaceLink>} />
      )}
      {groups.length > 0 && (
        <Stack>
          <Section title={text.perDay}>
            <UsageByDay
              groups={groups}
              from={range.from}
              to={range.to}
              measure={measure}
              partOf={partOf}
              label={text.perDayLabel}
            />
          </Section>
          <Section title={text.shares}>
            <UsageShares groups={groups} measure={measure} partOf={partOf} label={text.sharesLabel} />
          </Section>
          <Section title={text.figures}>
            <Figures groups={groups} partOf={partOf} />
          </Section>
          {usage.data?.isCut && <Alert color="yellow">{text.cut}</Alert>}
          {last?.completeUntil != null && (
            <Text size="sm" c="dimmed">
              {text.completeUntil(format.instant(last.completeUntil))}
            </Text>
          )}
        </Stack>
      )}
    </Page>
  );
}

/** Says that the usage is of one key, which may be taken back. */
function OnlyKey({ keyId, onRemove }: { readonly keyId: string; readonly onRemove: () => void }) {
  const text = useTexts(usageTexts);
  const name = useKeyNames().get(keyId) ?? keyId;
  return (
    <Group gap="sm">
      <Text>{text.onlyKey(name)}</Text>
      <Button variant="default" size="xs" onClick={onRemove}>
        {text.allKeys}
      </Button>
    </Group>
  );
}

function Figures({ groups, partOf }: { readonly groups: readonly UsageGroup[]; readonly partOf: PartOf }) {
  const text = useTexts(usageTexts);
  const format = useFormat();
  const sums = useMemo(() => sumGroups(groups, partOf, text.total), [groups, partOf, text.total]);
  return (
    <DataTable
      label={text.figures}
      items={sums}
      idOf={({ id }) => (id === null ? 'total' : `part ${id}`)}
      columns={[
        { header: text.group, cell: ({ name }) => name },
        { header: text.calls, cell: ({ calls }) => format.count(calls), isFigure: true },
        { header: text.inputTokens, cell: ({ inputTokens }) => format.shortCount(inputTokens), isFigure: true },
        { header: text.outputTokens, cell: ({ outputTokens }) => format.shortCount(outputTokens), isFigure: true },
        {
          header: text.netCharge,
          cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} isShort />,
          isFigure: true,
        },
      ]}
    />
  );
}

/** What a group is of, in words where it is one of a few. */
function usePartOf(dimension: Dimension): PartOf {
  const text = useTexts(usageTexts);
  const common = useTexts(commonTexts);
  const statuses = useStatusTexts();
  return useCallback(
    (group) => {
      switch (dimension) {
        case 'model':
          return { id: group.model ?? '', name: group.model ?? '–' };
        case 'key':
          return keyPart(group, text.unknownKey);
        case 'status':
          return { id: group.status ?? '', name: ownValue(statuses, group.status ?? '') ?? group.status ?? '–' };
        case 'context':
          return { id: group.context ?? '', name: group.context === 'coding' ? common.coding : common.balance };
      }
    },
    [dimension, text, common, statuses],
  );
}
