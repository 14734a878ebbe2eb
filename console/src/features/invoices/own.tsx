import { Alert, Anchor, Button } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import type { OwnInvoiceRequest } from '../../api/types.ts';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { ListTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { useInvoiceColumns } from './invoice-columns.tsx';
import { RequestDialog } from './request-dialog.tsx';
import { invoicesTexts } from './texts.ts';

/** The account's requests for invoices. */
export function OwnInvoicesPage() {
  const text = useTexts(invoicesTexts);
  const account = useRead('GET /account/v1/account', {}).data;
  const list = useList('GET /account/v1/invoice-requests', { query: {} });
  const [open, dialog] = useDialog();
  const hasBuyer = account?.role === 'owner' && account.buyer !== null;
  return (
    <Page
      lead={text.ownLead}
      actions={
        <Button onClick={open} disabled={!hasBuyer}>
          {text.request}
        </Button>
      }
    >
      {account?.role === 'owner' && !hasBuyer && (
        <Alert color="blue">
          {text.buyerFirst}{' '}
          <Anchor href={hashOf('/settings')} underline="always">
            {text.toSettings}
          </Anchor>
        </Alert>
      )}
      <Section>
        <ListTable
          label={text.invoices}
          list={list}
          columns={useInvoiceColumns<OwnInvoiceRequest>([])}
          empty={<EmptyState title={text.none} hint={text.ownNoneHint} />}
        />
      </Section>
      <RequestDialog requests={list.items} today={account?.today ?? ''} {...dialog} />
    </Page>
  );
}
