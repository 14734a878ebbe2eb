import { Tabs } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import type { OwnLedgerEntry } from '../../api/types.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { useTexts } from '../../text/language.tsx';
import { useEntryColumns } from './entry-columns.tsx';
import { LedgerFilters, useLedgerFilter } from './ledger-filters.tsx';
import { OwnStatementTab } from './own-statement.tsx';
import { ReceiptLink } from './receipt-link.tsx';
import { ledgerTexts } from './texts.ts';

export function LedgerPage() {
  const text = useTexts(ledgerTexts);
  const [query, change] = usePlaceQuery();
  return (
    <Page lead={text.lead}>
      <Tabs value={query.tab ?? 'ledger'} onChange={(tab) => change({ tab })} keepMounted={false}>
        <Tabs.List className="no-print">
          <Tabs.Tab value="ledger">{text.ledger}</Tabs.Tab>
          <Tabs.Tab value="statement">{text.statement}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="ledger" pt="md">
          <Entries />
        </Tabs.Panel>
        <Tabs.Panel value="statement" pt="md">
          <OwnStatementTab />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Entries() {
  const text = useTexts(ledgerTexts);
  const { filter, isFiltered } = useLedgerFilter();
  const list = useList('GET /account/v1/ledger', { query: filter }, { isLive: true });
  return (
    <>
      <LedgerFilters>
        <CsvButton endpoint="GET /account/v1/ledger" input={{ query: filter }} fileName="ledger.csv" />
      </LedgerFilters>
      <ListTable
        label={text.ledger}
        isInPlace
        list={list}
        columns={useEntryColumns<OwnLedgerEntry>('/calls', [])}
        actions={({ id, kind }) => kind === 'top_up' && <ReceiptLink id={id} receiptsAt="/receipts" />}
        empty={
          <EmptyState
            title={isFiltered ? text.noneFits : text.nothing}
            hint={isFiltered ? text.noneFitsHint : text.nothingHint}
          />
        }
      />
    </>
  );
}
