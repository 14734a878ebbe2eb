import { NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { DateRangePicker } from '../../parts/date-range.tsx';
import { dayIn, usageRange } from '../../parts/days.ts';
import { FoldedFilters } from '../../parts/filters.tsx';
import { chosenOf, usePlaceQuery } from '../../parts/location.ts';
import { ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { AccountPicker, KeyPicker, ModelPicker, ProviderPicker } from '../../parts/picker.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { Completeness, MeasurePicker } from './controls.tsx';
import { operatorUsageTexts } from './operator-texts.ts';
import { SumTiles } from './sum-tiles.tsx';
import { dimensionsOf, GROUPINGS, usageTexts } from './texts.ts';
import { UsageChart } from './usage-chart.tsx';
import { usagePlaceOf } from './usage-place.ts';
import { UsageTable } from './usage-table.tsx';

const FILTERS = ['accountId', 'keyId', 'model', 'provider'] as const;

export function OperatorUsagePage() {
  const text = useTexts(operatorUsageTexts);
  const words = useTexts(usageTexts);
  const { billingTimezone } = useSession();
  const [query, setQuery] = usePlaceQuery();
  const today = dayIn(billingTimezone, Date.now());
  const place = usagePlaceOf(query, query.measure, GROUPINGS, today);
  const asked = { ...usageRange(place.range), ...chosenOf(query, FILTERS) };
  const sums = useRead('GET /admin/v1/usage', { query: asked });
  const grouped = place.by === 'day' ? 'day' : `day,${dimensionsOf(place.by)}`;
  const fileName = `usage-${place.by}-${place.range.from}-${place.range.to}.csv`;
  return (
    <Page
      lead={text.lead}
      actions={
        <CsvButton
          endpoint="GET /admin/v1/usage"
          input={{ query: { ...asked, groupBy: grouped } }}
          fileName={fileName}
        />
      }
    >
      <FoldedFilters names={['from', 'to', 'by', ...FILTERS]}>
        <Stack gap="sm">
          <DateRangePicker value={place.range} onChange={({ from, to }) => setQuery({ from, to })} today={today} />
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
            <NativeSelect
              label={words.by}
              value={place.by}
              onChange={({ currentTarget }) => setQuery({ by: currentTarget.value })}
              data={GROUPINGS.map((value) => ({ value, label: words.dimensions[value] }))}
            />
            <AccountPicker value={query.accountId} onChange={(accountId) => setQuery({ accountId, keyId: null })} />
            <KeyPicker value={query.keyId} onChange={(keyId) => setQuery({ keyId })} accountId={query.accountId} />
            <ModelPicker value={query.model} onChange={(model) => setQuery({ model })} />
            <ProviderPicker value={query.provider} onChange={(provider) => setQuery({ provider })} />
          </SimpleGrid>
        </Stack>
      </FoldedFilters>
      <ReadState read={sums} />
      {sums.data !== undefined && <SumTiles sums={sums.data.data[0]} />}
      <Section
        title={text.chart}
        actions={
          <MeasurePicker
            value={place.measure}
            onChange={(measure) => setQuery({ measure })}
            labels={{ ...words, charge: words.netCharge }}
          />
        }
      >
        <UsageChart asked={asked} place={place} />
      </Section>
      <UsageTable asked={asked} by={place.by} />
      {sums.data !== undefined && <Completeness until={sums.data.completeUntil} />}
    </Page>
  );
}
