import { Anchor, Button, Title } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Receipt } from '../../api/types.ts';
import type { PageProps } from '../../layout/console-page.ts';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { hashOf } from '../../parts/location.ts';
import { type Read, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Paper } from './paper.tsx';
import { paperTexts } from './paper-texts.ts';

export function OwnReceiptPage({ id }: PageProps) {
  const read = useRead('GET /account/v1/receipts/{id}', { path: { id } });
  return <ReceiptPage read={read} ledgerAt={hashOf('/ledger')} isOwn />;
}

export function OperatorReceiptPage({ id }: PageProps) {
  const read = useRead('GET /admin/v1/receipts/{id}', { path: { id } });
  const account = read.data?.accountId;
  const ledgerAt = hashOf(account === undefined ? '/operator/accounts' : `/operator/accounts/${account}`, {
    tab: 'money',
  });
  return <ReceiptPage read={read} ledgerAt={ledgerAt} isOwn={false} />;
}

interface ReceiptPageProps {
  readonly read: Read & { readonly data: Receipt | undefined };
  readonly ledgerAt: string;
  readonly isOwn: boolean;
}

/** The receipt of a top-up, to print or save. */
function ReceiptPage({ read, ledgerAt, isOwn }: ReceiptPageProps) {
  const text = useTexts(paperTexts);
  const format = useFormat();
  const receipt = read.data;
  return (
    <Page
      actions={
        <>
          {receipt !== undefined && <Button onClick={() => window.print()}>{text.print}</Button>}
          <Anchor href={ledgerAt}>{text.toLedger}</Anchor>
        </>
      }
    >
      <ReadState read={read} />
      {receipt !== undefined && (
        <Paper parties={receipt} isOwn={isOwn}>
          <Title order={2} size="h3" className="print-only">
            {text.receipt}
          </Title>
          <Section title={text.topUp}>
            <Facts
              facts={[
                [text.receiptNumber, receipt.number],
                [text.paidAt, format.day(receipt.createdAt, receipt.timezone)],
                [text.reference, receipt.reference],
                [text.amount, <Yuan key="amount" amount={receipt.amountYuan} />],
              ]}
            />
          </Section>
        </Paper>
      )}
    </Page>
  );
}
