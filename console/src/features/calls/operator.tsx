import { Button, NativeSelect, SimpleGrid, Stack, Tabs, Text } from '@mantine/core';
import type { QueryOf } from '../../api/client.ts';
import { useList } from '../../api/queries.ts';
import { useAllCallColumns, useAllRefusalColumns } from '../../parts/calls/operator-tables.tsx';
import { CALL_STATUSES, useStatusTexts } from '../../parts/calls/status-badge.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { FilterInstant, FilterText, FoldedFilters } from '../../parts/filters.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { type Place, usePlaceQuery } from '../../parts/location.tsx';
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
          <Calls query={query} onChange={setQuery} />
        </Tabs.Panel>
        <Tabs.Panel value="refusals">
          <Refusals query={query} onChange={setQuery} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

interface FilteredProps {
  readonly query: Place['query'];
  readonly onChange: (changed: { readonly [name: string]: string | null }) => void;
}

const CALL_FILTERS = ['accountId', 'keyId', 'userId', 'model', 'status', 'from', 'to'] as const;

function Calls({ query, onChange }: FilteredProps) {
  const text = useTexts(operatorCallsTexts);
  const statuses = useStatusTexts();
  const columns = useAllCallColumns();
  const { requestId } = query;
  const filter: QueryOf<'GET /admin/v1/calls'> = requestId === undefined ? chosen(query, CALL_FILTERS) : { requestId };
  const input = { query: filter };
  const list = useList('GET /admin/v1/calls', input, { isLive: query.status === 'in_flight' });
  return (
    <Section actions={<CsvButton endpoint="GET /admin/v1/calls" input={input} fileName="calls.csv" />}>
      <Stack>
        <Filters query={query} onChange={onChange} names={[...CALL_FILTERS, 'requestId']}>
          <WhoseFilters query={query} onChange={onChange} />
          <NativeSelect
            label={text.status}
            value={query.status ?? ''}
            onChange={({ currentTarget }) => onChange({ status: currentTarget.value })}
            data={[
              { value: '', label: text.anyStatus },
              ...CALL_STATUSES.map((value) => ({ value, label: statuses[value] })),
            ]}
          />
          <FilterText
            label={text.requestId}
            placeholder={text.requestIdHint}
            value={requestId ?? ''}
            onChange={(entered) => onChange({ requestId: entered })}
          />
        </Filters>
        {requestId !== undefined && <Text size="sm">{text.requestAlone}</Text>}
        <ListTable
          label={text.calls}
          list={list}
          idOf={({ id }) => id}
          columns={columns}
          empty={<EmptyState title={text.noCalls} hint={text.noCallsHint} />}
        />
      </Stack>
    </Section>
  );
}

const REFUSAL_FILTERS = ['accountId', 'keyId', 'userId', 'model', 'code', 'from', 'to'] as const;

function Refusals({ query, onChange }: FilteredProps) {
  const text = useTexts(operatorCallsTexts);
  const columns = useAllRefusalColumns();
  const input = { query: chosen(query, REFUSAL_FILTERS) };
  const list = useList('GET /admin/v1/refusals', input);
  return (
    <Section actions={<CsvButton endpoint="GET /admin/v1/refusals" input={input} fileName="refusals.csv" />}>
      <Stack>
        <Filters query={query} onChange={onChange} names={REFUSAL_FILTERS}>
          <WhoseFilters query={query} onChange={onChange} />
          <FilterText label={text.code} value={query.code ?? ''} onChange={(code) => onChange({ code })} />
        </Filters>
        <ListTable
          label={text.refusals}
          list={list}
          idOf={({ id }) => id}
          columns={columns}
          empty={<EmptyState title={text.noRefusals} hint={text.noRefusalsHint} />}
        />
      </Stack>
    </Section>
  );
}

/** Filters by an account, what belongs to it, and a model. */
function WhoseFilters({ query, onChange }: FilteredProps) {
  return (
    <>
      <AccountPicker
        value={query.accountId}
        onChange={(accountId) => onChange({ accountId, keyId: null, userId: null })}
      />
      <KeyPicker value={query.keyId} onChange={(keyId) => onChange({ keyId })} accountId={query.accountId} />
      <MemberPicker value={query.userId} onChange={(userId) => onChange({ userId })} accountId={query.accountId} />
      <ModelPicker value={query.model} onChange={(model) => onChange({ model })} />
    </>
  );
}

interface FiltersProps extends FilteredProps {
  readonly names: readonly string[];
  readonly children: React.ReactNode;
}

/** The filters of a list, those by time behind its own. */
function Filters({ query, onChange, names, children }: FiltersProps) {
  const text = useTexts(operatorCallsTexts);
  return (
    <FoldedFilters names={names}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        {children}
        <FilterInstant label={text.from} value={query.from ?? ''} onChange={(from) => onChange({ from })} />
        <FilterInstant label={text.to} value={query.to ?? ''} onChange={(to) => onChange({ to })} />
        <Button
          variant="subtle"
          style={{ alignSelf: 'end' }}
          disabled={names.every((name) => query[name] === undefined)}
          onClick={() => onChange(Object.fromEntries(names.map((name) => [name, null])))}
        >
          {text.clear}
        </Button>
      </SimpleGrid>
    </FoldedFilters>
  );
}

function chosen<Name extends string>(query: Place['query'], names: readonly Name[]) {
  return Object.fromEntries(names.filter((name) => query[name] !== undefined).map((name) => [name, query[name]]));
}
