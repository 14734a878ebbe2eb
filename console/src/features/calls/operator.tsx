import { Stack, Tabs, Text } from '@mantine/core';
import type { QueryOf } from '../../api/client.ts';
import { useList } from '../../api/queries.ts';
import { CALLER_FILTERS, CallerFilters } from '../../parts/calls/caller-filters.tsx';
import { useAllCallColumns, useAllRefusalColumns } from '../../parts/calls/operator-columns.tsx';
import { callStatusTexts } from '../../parts/calls/status-badge.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { FilterGrid, FilterSelect, FilterText } from '../../parts/filters.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { chosenOf, usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { AccountPicker, KeyPicker, MemberPicker, ModelPicker } from '../../parts/picker.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { operatorCallsTexts } from './operator-texts.ts';

export function AllCallsPage() {
  const text = useTexts(operatorCallsTexts);
  const [query, setQuery] = usePlaceQuery();
  const tab = query.tab === 'refusals' ? 'refusals' : 'calls';
  return (
    <Page lead={text.lead}>
      <Tabs
        value={tab}
        onChange={(chosen) => setQuery({ tab: chosen === 'refusals' ? chosen : null })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="calls">{text.calls}</Tabs.Tab>
          <Tabs.Tab value="refusals">{text.refusals}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="calls">
          <Calls />
        </Tabs.Panel>
        <Tabs.Panel value="refusals">
          <Refusals />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

const CALL_FILTERS = ['accountId', 'keyId', 'userId', 'model', 'status', 'from', 'to', ...CALLER_FILTERS] as const;

function Calls() {
  const [query] = usePlaceQuery();
  const text = useTexts(operatorCallsTexts);
  const statuses = useTexts(callStatusTexts);
  const columns = useAllCallColumns();
  const { requestId } = query;
  const filter: QueryOf<'GET /admin/v1/calls'> =
    requestId === undefined ? chosenOf(query, CALL_FILTERS) : { requestId };
  const input = { query: filter };
  const list = useList('GET /admin/v1/calls', input, { isLive: query.status === 'in_flight' });
  return (
    <Section actions={<CsvButton endpoint="GET /admin/v1/calls" input={input} fileName="calls.csv" />}>
      <Stack>
        <FilterGrid names={[...CALL_FILTERS, 'requestId']}>
          <WhoseFilters />
          <FilterSelect name="status" label={text.status} all={text.anyStatus} choices={statuses} />
          <CallerFilters />
          <FilterText name="requestId" label={text.requestId} placeholder={text.requestIdHint} />
        </FilterGrid>
        {requestId !== undefined && <Text size="sm">{text.requestAlone}</Text>}
        <ListTable
          label={text.calls}
          isInPlace
          list={list}
          columns={columns}
          empty={<EmptyState title={text.noCalls} hint={text.noCallsHint} />}
        />
      </Stack>
    </Section>
  );
}

const REFUSAL_FILTERS = ['accountId', 'keyId', 'userId', 'model', 'code', 'from', 'to'] as const;

function Refusals() {
  const [query] = usePlaceQuery();
  const text = useTexts(operatorCallsTexts);
  const columns = useAllRefusalColumns();
  const input = { query: chosenOf(query, REFUSAL_FILTERS) };
  const list = useList('GET /admin/v1/refusals', input);
  return (
    <Section actions={<CsvButton endpoint="GET /admin/v1/refusals" input={input} fileName="refusals.csv" />}>
      <Stack>
        <FilterGrid names={REFUSAL_FILTERS}>
          <WhoseFilters />
          <FilterText name="code" label={text.code} />
        </FilterGrid>
        <ListTable
          label={text.refusals}
          isInPlace
          list={list}
          columns={columns}
          empty={<EmptyState title={text.noRefusals} hint={text.noRefusalsHint} />}
        />
      </Stack>
    </Section>
  );
}

function WhoseFilters() {
  const [query, change] = usePlaceQuery();
  return (
    <>
      <AccountPicker
        value={query.accountId}
        onChange={(accountId) => change({ accountId, keyId: null, userId: null })}
      />
      <KeyPicker value={query.keyId} onChange={(keyId) => change({ keyId })} accountId={query.accountId} />
      <MemberPicker value={query.userId} onChange={(userId) => change({ userId })} accountId={query.accountId} />
      <ModelPicker value={query.model} onChange={(model) => change({ model })} />
    </>
  );
}
