import { Alert, Group, SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { LatencyGroup } from '../../api/types.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { useNowMs } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { ModelPicker, ProviderPicker } from '../../parts/picker.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { LatencyChart } from './latency-chart.tsx';
import { greatestMs, MEASURES, writeSpeed } from './measures.ts';
import { latencyTexts } from './texts.ts';

const HOUR_MS = 3_600_000;
const RANGES = {
  hour: { hours: 1, by: 'hour' },
  day: { hours: 24, by: 'hour' },
  week: { hours: 168, by: 'hour' },
  month: { hours: 720, by: 'day' },
} as const;
const RANGE_NAMES = Object.keys(RANGES) as readonly (keyof typeof RANGES)[];

export function LatencyPage() {
  const text = useTexts(latencyTexts);
  const format = useFormat();
  const [query, setQuery] = usePlaceQuery();
  const range = RANGE_NAMES.find((name) => name === query.range) ?? 'day';
  const measure = MEASURES.find((name) => name === query.measure) ?? 'duration';
  // Rounded to the hour, so that the query changes only once an hour.
  const nowMs = Math.floor(useNowMs() / HOUR_MS) * HOUR_MS;
  const { hours, by } = RANGES[range];
  const from = new Date(nowMs - hours * HOUR_MS).toISOString();
  const asked = { from, model: query.model, provider: query.provider };
  const routes = useRead('GET /admin/v1/latency', { query: asked }, { isLive: true });
  const course = useRead('GET /admin/v1/latency', { query: { ...asked, groupBy: by } }, { isLive: true });
  const error = routes.error ?? course.error;
  return (
    <Page
      lead={text.lead}
      actions={
        <CsvButton
          endpoint="GET /admin/v1/latency"
          input={{ query: { ...asked, groupBy: `${by},model,provider,providerModel` } }}
          fileName={`latency-${range}.csv`}
        />
      }
    >
      <Stack gap="sm">
        <Group>
          <SegmentedControl
            aria-label={text.range}
            data={RANGE_NAMES.map((value) => ({ value, label: text.ranges[value] }))}
            value={range}
            onChange={(chosen) => setQuery({ range: chosen })}
          />
        </Group>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
          <ModelPicker value={query.model} onChange={(model) => setQuery({ model })} />
          <ProviderPicker value={query.provider} onChange={(provider) => setQuery({ provider })} />
        </SimpleGrid>
      </Stack>
      <ErrorNotice error={error} onRetry={() => void Promise.all([routes.refetch(), course.refetch()])} />
      {(routes.data === undefined || course.data === undefined) && error === null && <Loading />}
      {routes.data?.data.length === 0 && <EmptyState title={text.nothing} hint={text.nothingHint} />}
      {routes.data !== undefined && course.data !== undefined && routes.data.data.length > 0 && (
        <>
          <Section
            title={text.chart}
            actions={
              <SegmentedControl
                aria-label={text.measure}
                data={MEASURES.map((value) => ({ value, label: text.measures[value] }))}
                value={measure}
                onChange={(chosen) => setQuery({ measure: chosen })}
              />
            }
          >
            <LatencyChart groups={course.data.data} measure={measure} />
          </Section>
          <Section title={text.table}>
            <RoutesTable groups={routes.data.data} />
          </Section>
          {routes.data.isCut && <Alert color="yellow">{text.cut}</Alert>}
          <DimmedText>{text.since(format.instant(routes.data.from))}</DimmedText>
        </>
      )}
    </Page>
  );
}

function RoutesTable({ groups }: { readonly groups: readonly LatencyGroup[] }) {
  const text = useTexts(latencyTexts);
  const format = useFormat();
  const likeMs = { durationMs: greatestMs(groups, 'durationMs'), firstByteMs: greatestMs(groups, 'firstByteMs') };
  const both = (group: LatencyGroup, name: keyof typeof likeMs): string => {
    const { p50, p95 } = group[name];
    const write = (ms: number) => format.duration(ms, likeMs[name]);
    return p50 === null || p95 === null ? '–' : `${write(p50)} / ${write(p95)}`;
  };
  return (
    <DataTable<LatencyGroup>
      label={text.table}
      items={groups}
      idOf={({ model, provider, providerModel }) => JSON.stringify([model, provider, providerModel])}
      columns={[
        { header: text.model, cell: ({ model }) => model },
        { header: text.route, cell: ({ provider, providerModel }) => `${provider} / ${providerModel}` },
        { header: text.attempts, isFigure: true, cell: ({ attempts }) => format.count(attempts) },
        {
          header: text.errorRate,
          isFigure: true,
          cell: ({ errors, errorRatio }) =>
            errorRatio === null ? '–' : `${format.percent(errorRatio)} (${format.count(errors)})`,
        },
        {
          header: text.refused,
          isFigure: true,
          cell: ({ refused }) => <span title={text.refusedHint}>{format.count(refused)}</span>,
        },
        { header: text.latencyOf, isFigure: true, cell: (group) => both(group, 'durationMs') },
        { header: text.firstByteOf, isFigure: true, cell: (group) => both(group, 'firstByteMs') },
        {
          header: text.speed,
          isFigure: true,
          cell: ({ tokensPerSecond: speed }) => (speed === null ? '–' : writeSpeed(speed, format)),
        },
      ]}
    />
  );
}
