import { Group, Select, Tabs } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import type { OwnCall, OwnCallInFlight, OwnRefusal } from '../../api/types.ts';
import { CALLER_FILTERS, CallerFilters } from '../../parts/calls/caller-filters.tsx';
import { useRefusalColumns } from '../../parts/calls/refusal-columns.tsx';
import { CALL_STATUSES, callStatusTexts } from '../../parts/calls/status-badge.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { instantsOfDays } from '../../parts/days.ts';
import { DayFilters, DaysHint, FilterText, FoldedFilters } from '../../parts/filters.tsx';
import { DataTable, ListTable } from '../../parts/list-table.tsx';
import { chosenOf, usePlaceQuery } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { useOwnCallColumns } from './own-columns.tsx';
import { KeyAndPersonFilters } from './own-filters.tsx';
import { Refusals } from './own-refusals.tsx';
import { callsTexts } from './own-texts.ts';

/** Calls and refusals of the account; for members, of their own keys. */
export function CallsPage() {
  const text = useTexts(callsTexts);
  const [query, change] = usePlaceQuery();
  return (
    <Page lead={text.lead}>
      <Tabs value={query.tab ?? 'calls'} onChange={(tab) => change({ tab })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="calls">{text.calls}</Tabs.Tab>
          <Tabs.Tab value="refusals">{text.refused}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="calls" pt="md">
          <Filters />
          {query.requestId === undefined ? <Calls /> : <CallsOfRequest requestId={query.requestId} />}
        </Tabs.Panel>
        <Tabs.Panel value="refusals" pt="md">
          <Refusals />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

const FILTERS = ['keyId', 'userId', 'model', 'status', 'from', 'to', 'requestId', ...CALLER_FILTERS] as const;

function Filters() {
  const text = useTexts(callsTexts);
  const statuses = useTexts(callStatusTexts);
  const [query, change] = usePlaceQuery();
  /** A search by request id clears the other filters. */
  function findRequest(requestId: string): void {
    const others = Object.fromEntries(FILTERS.map((name) => [name, null]));
    change(requestId === '' ? { requestId: null } : { ...others, requestId });
  }
  return (
    <FoldedFilters names={FILTERS}>
      <Group align="flex-end" gap="sm" mb="md">
        <KeyAndPersonFilters query={query} onChange={(changed) => change({ ...changed, requestId: null })} />
        <Select
          label={text.status}
          placeholder={text.anyStatus}
          data={CALL_STATUSES.map((status) => ({ value: status, label: statuses[status] }))}
          value={query.status ?? null}
          onChange={(status) => change({ status, requestId: null })}
          clearable
          w={150}
        />
        <DayFilters onChange={(changed) => change({ ...changed, requestId: null })} />
        <CallerFilters onChange={(changed) => change({ ...changed, requestId: null })} />
        <FilterText name="requestId" label={text.requestId} placeholder={text.requestIdHint} onChange={findRequest} />
      </Group>
    </FoldedFilters>
  );
}

function Calls() {
  const text = useTexts(callsTexts);
  const [query] = usePlaceQuery();
  const columns = useOwnCallColumns();
  const status = CALL_STATUSES.find((each) => each === query.status);
  const { billingTimezone } = useSession();
  const chosen = chosenOf(query, ['keyId', 'userId', 'model', ...CALLER_FILTERS]);
  const input = { query: { ...chosen, status, ...instantsOfDays(query, billingTimezone) } };
  const list = useList('GET /account/v1/calls', input, { isLive: true });
  return (
    <>
      <Group justify="flex-end" mb="xs">
        <CsvButton endpoint="GET /account/v1/calls" input={input} fileName="calls.csv" />
      </Group>
      <DaysHint textOf={text.daysOf} />
      <ListTable<OwnCall | OwnCallInFlight>
        label={text.calls}
        isInPlace
        list={list}
        columns={columns}
        empty={<EmptyState title={text.nothing} hint={text.nothingHint} />}
      />
    </>
  );
}

/** A request id finds both calls and refusals. */
function CallsOfRequest({ requestId }: { readonly requestId: string }) {
  const text = useTexts(callsTexts);
  const found = useRead('GET /account/v1/calls', { query: { requestId } });
  const columns = useOwnCallColumns();
  const refusalColumns = useRefusalColumns<OwnRefusal>();
  if (found.data === undefined) return <ReadState read={found} />;
  const refusals = 'refusals' in found.data ? found.data.refusals : [];
  if (found.data.data.length === 0 && refusals.length === 0) return <EmptyState title={text.nothing} />;
  return (
    <>
      {found.data.data.length > 0 && (
        <DataTable<OwnCall | OwnCallInFlight> label={text.calls} items={found.data.data} columns={columns} />
      )}
      {refusals.length > 0 && <DataTable label={text.refusalsOfRequest} items={refusals} columns={refusalColumns} />}
    </>
  );
}
