import { Alert, Anchor, Button, Group, Select, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useRead, useWholeList } from '../../api/queries.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { DateRangePicker } from '../../parts/date-range.tsx';
import { usageRange } from '../../parts/days.ts';
import { Yuan } from '../../parts/figures.tsx';
import { FoldedFilters } from '../../parts/filters.tsx';
import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { UsageByDay } from '../../parts/usage/usage-by-day.tsx';
import type { UsageGroup } from '../../parts/usage/usage-group.ts';
import type { PartOf } from '../../parts/usage/usage-parts.ts';
import { sumGroups } from '../../parts/usage/usage-sums.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Completeness, MeasurePicker } from './controls.tsx';
import { ownUsageTexts } from './own-texts.ts';
import { usePartOf } from './part-of.ts';
import { isOfCallers, usageTexts } from './texts.ts';
import { usagePlaceOf } from './usage-place.ts';
import { UsageShares } from './usage-shares.tsx';

const DIMENSIONS = ['model', 'key', 'status', 'context', 'endUser', 'program', 'tag'] as const;

export function UsagePage() {
  const text = useTexts(ownUsageTexts);
  const account = useRead('GET /account/v1/account', {});
  if (account.data !== undefined) return <Usage today={account.data.today} />;
  return (
    <Page lead={text.lead}>
      <ReadState read={account} />
    </Page>
  );
}

/** `today` is in the billing time zone. */
function Usage({ today }: { readonly today: string }) {
  const text = useTexts(ownUsageTexts);
  const words = useTexts(usageTexts);
  const [query, change] = usePlaceQuery();
  const { range, by: dimension, measure } = usagePlaceOf(query, query.show, DIMENSIONS, today);
  const asked = { ...usageRange(range), keyId: query.keyId, groupBy: `day,${dimension}` };
  const usage = useWholeList('GET /account/v1/usage', { query: asked });
  const groups = useMemo(() => usage.data?.items ?? [], [usage.data]);
  const partOf = usePartOf(dimension);
  const last = usage.data?.last;

  return (
    <Page
      lead={text.lead}
      actions={
        <CsvButton
          endpoint="GET /account/v1/usage"
          input={{ query: asked }}
          fileName={`usage-${range.from}-${range.to}.csv`}
        />
      }
    >
      <FoldedFilters names={['from', 'to', 'by', 'show']}>
        <Group align="flex-end" gap="md">
          <DateRangePicker value={range} onChange={(chosen) => change({ ...chosen })} today={today} />
          <Select
            label={words.by}
            data={DIMENSIONS.map((each) => ({ value: each, label: words.dimensions[each] }))}
            value={dimension}
            onChange={(by) => change({ by })}
            allowDeselect={false}
            w={160}
          />
          <MeasurePicker value={measure} onChange={(show) => change({ show })} labels={words} />
        </Group>
      </FoldedFilters>
      {query.keyId !== undefined && <OnlyKey keyId={query.keyId} onRemove={() => change({ keyId: null })} />}
      <ReadState read={usage} />
      {usage.data !== undefined && groups.length === 0 && (
        <EmptyState
          title={text.nothing}
          hint={isOfCallers(dimension) ? words.noCallers : <Anchor href="#/quickstart">{text.nothingHint}</Anchor>}
        />
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
          <Section title={text.figures} lead={dimension === 'tag' ? words.countsForEachTag : undefined}>
            <Figures groups={groups} partOf={partOf} />
          </Section>
          {usage.data?.isCut && <Alert color="yellow">{text.cut}</Alert>}
          {last !== undefined && <Completeness until={last.completeUntil} />}
        </Stack>
      )}
    </Page>
  );
}

function OnlyKey({ keyId, onRemove }: { readonly keyId: string; readonly onRemove: () => void }) {
  const text = useTexts(ownUsageTexts);
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
  const text = useTexts(ownUsageTexts);
  const words = useTexts(usageTexts);
  const format = useFormat();
  const sums = useMemo(() => sumGroups(groups, partOf, text.total), [groups, partOf, text.total]);
  return (
    <DataTable
      label={text.figures}
      items={sums}
      idOf={({ id }) => (id === null ? 'total' : `part ${id}`)}
      columns={[
        { header: text.group, cell: ({ name }) => name },
        { header: words.calls, cell: ({ calls }) => format.count(calls), isFigure: true },
        { header: text.inputTokens, cell: ({ inputTokens }) => format.shortCount(inputTokens), isFigure: true },
        { header: text.outputTokens, cell: ({ outputTokens }) => format.shortCount(outputTokens), isFigure: true },
        {
          header: words.charge,
          cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} isShort />,
          isFigure: true,
        },
      ]}
    />
  );
}
