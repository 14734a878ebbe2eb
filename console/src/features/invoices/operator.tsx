import { Group, Menu } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { InvoiceRequest } from '../../api/types.ts';
import { FilterSelect } from '../../parts/filters.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page, usePageTitle } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { CloseDialog, type Closing } from './close-dialog.tsx';
import { useInvoiceColumns } from './invoice-columns.tsx';
import { invoicesTexts } from './texts.ts';

const STATES = ['open', 'issued', 'refused'] as const;

/** The requests of all accounts for invoices. */
export function InvoicesPage() {
  const text = useTexts(invoicesTexts);
  const mayOperate = useMayOperate();
  const [query] = usePlaceQuery();
  const state = STATES.find((each) => each === query.state);
  const list = useList('GET /admin/v1/invoice-requests', { query: { state } }, { isLive: true });
  const [closing, setClosing] = useState<Closing | null>(null);
  const accountColumn = {
    header: text.account,
    cell: ({ accountId, accountName }: InvoiceRequest) => (
      <AccountLink accountId={accountId} name={accountName ?? accountId} />
    ),
  };
  const actions = (request: InvoiceRequest) =>
    request.state === 'open' && (
      <RowMenu label={text.actionsFor(request.buyer.companyName)}>
        <Menu.Item onClick={() => setClosing({ request, state: 'issued' })}>{text.issue}</Menu.Item>
        <Menu.Item onClick={() => setClosing({ request, state: 'refused' })}>{text.refuse}</Menu.Item>
      </RowMenu>
    );
  return (
    <Page lead={text.lead}>
      <Section>
        <Group mb="md">
          <FilterSelect name="state" label={text.state} all={text.all} choices={text.states} />
        </Group>
        <ListTable
          label={usePageTitle()}
          list={list}
          columns={useInvoiceColumns<InvoiceRequest>([accountColumn])}
          actions={mayOperate && actions}
          empty={
            state === undefined ? (
              <EmptyState title={text.none} hint={text.noneHint} />
            ) : (
              <EmptyState title={state === 'open' ? text.noneOpen : text.none} />
            )
          }
        />
      </Section>
      <CloseDialog closing={closing} onClose={() => setClosing(null)} />
    </Page>
  );
}
