import { Button, Stack } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { Account, LedgerEntry } from '../../api/types.ts';
import { RefundDialog } from '../../parts/calls/refund-dialog.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { useEntryColumns } from './entry-columns.tsx';
import { LedgerFilters, useLedgerFilter } from './ledger-filters.tsx';
import { moneyTexts } from './operator-texts.ts';
import { PostEntryDialog } from './post-entry-dialog.tsx';
import { ReceiptLink } from './receipt-link.tsx';
import { ledgerTexts } from './texts.ts';

export function MoneyTab({ account }: { readonly account: Account }) {
  const text = useTexts(moneyTexts);
  const { ledger, noneFits, noneFitsHint } = useTexts(ledgerTexts);
  const mayOperate = useMayOperate();
  const [openTopUp, topUp] = usePlaceDialog('top-up');
  const [openAdjustment, adjustment] = usePlaceDialog('adjust');
  const [refunded, setRefunded] = useState<string | null>(null);
  const { filter, isFiltered } = useLedgerFilter();
  const input = { path: { id: account.id }, query: filter };
  const list = useList('GET /admin/v1/accounts/{id}/ledger', input, { isLive: true });
  const memo: Column<LedgerEntry> = { header: text.memo, cell: (entry) => entry.memo ?? '–' };
  const actions = ({ id, kind, callId }: LedgerEntry) => {
    if (kind === 'top_up') return <ReceiptLink id={id} receiptsAt="/operator/receipts" />;
    if (kind !== 'charge' || callId === null || !mayOperate) return null;
    return <SmallButton onClick={() => setRefunded(callId)}>{text.refund}</SmallButton>;
  };
  return (
    <Stack>
      <Section
        title={ledger}
        lead={text.ledgerLead}
        actions={
          mayOperate && (
            <>
              <Button onClick={openTopUp}>{text.topUp}</Button>
              <Button variant="default" onClick={openAdjustment}>
                {text.adjust}
              </Button>
            </>
          )
        }
      >
        <LedgerFilters>
          <CsvButton
            endpoint="GET /admin/v1/accounts/{id}/ledger"
            input={input}
            fileName={`ledger-${account.id}.csv`}
          />
        </LedgerFilters>
        <ListTable
          label={ledger}
          list={list}
          columns={useEntryColumns<LedgerEntry>('/operator/calls', [memo])}
          actions={actions}
          isInPlace
          empty={
            <EmptyState title={isFiltered ? noneFits : text.none} hint={isFiltered ? noneFitsHint : text.noneHint} />
          }
        />
      </Section>
      {mayOperate && <PostEntryDialog kind="top_up" account={account} {...topUp} />}
      {mayOperate && <PostEntryDialog kind="adjustment" account={account} {...adjustment} />}
      <RefundDialog callId={refunded} onClose={() => setRefunded(null)} />
    </Stack>
  );
}
