import { Anchor, Tabs } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { hashOf, usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { Statement } from './own-statement.tsx';
import { ledgerTexts } from './own-texts.ts';

/** The money of the account: its entries, and what a month comes to. */
export function LedgerPage() {
  const text = useTexts(ledgerTexts);
  const [query, change] = usePlaceQuery();
  return (
    <Page title={text.title} lead={text.lead}>
      <Tabs value={query.tab ?? 'ledger'} onChange={(tab) => change({ tab })} keepMounted={false}>
        <Tabs.List className="no-print">
          <Tabs.Tab value="ledger">{text.ledger}</Tabs.Tab>
          <Tabs.Tab value="statement">{text.statement}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="ledger" pt="md">
          <Entries />
        </Tabs.Panel>
        <Tabs.Panel value="statement" pt="md">
          <Statement />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Entries() {
  const text = useTexts(ledgerTexts);
  const kinds = useTexts(ledgerKindTexts);
  const list = useList('GET /account/v1/ledger', {}, { isLive: true });
  return (
    <ListTable
      label={text.ledger}
      list={list}
      idOf={({ id }) => id}
      columns={[
        { header: text.when, cell: ({ createdAt }) => <Instant at={createdAt} /> },
        { header: text.kind, cell: ({ kind }) => kinds[kind] },
        {
          header: text.call,
          cell: ({ callId }) => (callId === null ? '–' : <Anchor href={hashOf(`/calls/${callId}`)}>{callId}</Anchor>),
        },
        { header: text.amount, cell: ({ amountYuan }) => <Yuan amount={amountYuan} />, isFigure: true },
        {
          header: text.balanceAfter,
          cell: ({ balanceAfterYuan }) => <Yuan amount={balanceAfterYuan} />,
          isFigure: true,
        },
      ]}
      empty={<EmptyState title={text.nothing} hint={text.nothingHint} />}
    />
  );
}
