import { Badge, Button, Menu } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { NewVoucherBatch, VoucherBatch } from '../../api/types.ts';
import { Instant, useNowMs, Yuan } from '../../parts/figures.tsx';
import { FilterText } from '../../parts/filters.tsx';
import { useConfirm } from '../../parts/forms/use-confirm.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page, usePageTitle } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Section } from '../../parts/section.tsx';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { CodesDialog } from './codes-dialog.tsx';
import { NewBatchDialog } from './new-batch-dialog.tsx';
import { vouchersTexts } from './operator-texts.ts';
import { RedemptionsDialog } from './redemptions-dialog.tsx';

const STATUS_COLORS = { open: 'teal', used: 'blue', expired: 'yellow', canceled: 'red' } as const;

export function VoucherBatchesPage() {
  const text = useTexts(vouchersTexts);
  const format = useFormat();
  const nowMs = useNowMs();
  const mayOperate = useMayOperate();
  const [open, newBatch] = usePlaceDialog('new');
  const [ask, confirmation] = useConfirm();
  const [created, setCreated] = useState<NewVoucherBatch | null>(null);
  const [looked, setLooked] = useState<VoucherBatch | null>(null);
  const [{ search = '' }] = usePlaceQuery();
  const list = useList('GET /admin/v1/vouchers', { query: search === '' ? {} : { search } });
  const columns: Column<VoucherBatch>[] = [
    { header: text.name, cell: ({ name, id }) => <TwoLines first={name} second={id} isName /> },
    {
      header: text.gives,
      isFigure: true,
      cell: ({ amountYuan, planId }) => (amountYuan === null ? planId : <Yuan amount={amountYuan} />),
    },
    {
      header: text.redeemed,
      isFigure: true,
      cell: ({ redeemedCount, count }) => text.ofTotal(format.count(redeemedCount), format.count(count)),
    },
    {
      header: text.status,
      cell: (batch) => {
        const status = statusOf(batch, nowMs);
        return <Badge color={STATUS_COLORS[status]}>{text.statuses[status]}</Badge>;
      },
    },
    { header: text.expires, cell: ({ expiresAt }) => <Instant at={expiresAt} /> },
    { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
    { header: text.by, cell: ({ createdBy }) => createdBy },
  ];
  const cancel = (batch: VoucherBatch) =>
    ask({
      label: text.cancel,
      question: text.cancelQuestion(batch.name, format.count(batch.count - batch.redeemedCount)),
      isDangerous: true,
      endpoint: 'DELETE /admin/v1/vouchers/{id}',
      input: { path: { id: batch.id } },
    });
  const actions = (batch: VoucherBatch) => (
    <RowMenu label={text.actionsFor(batch.name)}>
      <Menu.Item onClick={() => setLooked(batch)}>{text.redemptions}</Menu.Item>
      {mayOperate && statusOf(batch, nowMs) === 'open' && (
        <Menu.Item color="red" onClick={() => cancel(batch)}>
          {text.cancel}
        </Menu.Item>
      )}
    </RowMenu>
  );
  return (
    <Page
      lead={text.lead}
      actions={
        mayOperate && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            {text.create}
          </Button>
        )
      }
    >
      <Section>
        <FilterText name="search" label={text.search} />
        <ListTable
          label={usePageTitle()}
          list={list}
          columns={columns}
          actions={actions}
          isInPlace
          empty={
            search === '' ? <EmptyState title={text.none} hint={text.noneHint} /> : <EmptyState title={text.noMatch} />
          }
        />
      </Section>
      {mayOperate && <NewBatchDialog {...newBatch} onCreated={setCreated} />}
      {confirmation}
      <CodesDialog batch={created} onClose={() => setCreated(null)} />
      {looked !== null && <RedemptionsDialog batch={looked} onClose={() => setLooked(null)} />}
    </Page>
  );
}

function statusOf({ canceledAt, redeemedCount, count, expiresAt }: VoucherBatch, nowMs: number) {
  if (redeemedCount === count) return 'used';
  if (canceledAt !== null) return 'canceled';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'open';
}
