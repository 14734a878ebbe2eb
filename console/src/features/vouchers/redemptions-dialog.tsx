import { Modal } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import type { VoucherBatch } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { useTexts } from '../../text/language.tsx';
import { vouchersTexts } from './operator-texts.ts';

interface RedemptionsDialogProps {
  readonly batch: VoucherBatch;
  readonly onClose: () => void;
}

export function RedemptionsDialog({ batch, onClose }: RedemptionsDialogProps) {
  const text = useTexts(vouchersTexts);
  const list = useList('GET /admin/v1/vouchers/{id}/redemptions', { path: { id: batch.id } });
  return (
    <Modal opened onClose={onClose} title={text.redemptionsOf(batch.name)} size="lg">
      <ListTable
        label={text.redemptions}
        list={list}
        columns={[
          { header: text.at, cell: ({ redeemedAt }) => <Instant at={redeemedAt} /> },
          {
            header: text.account,
            cell: ({ accountId, accountName }) => <AccountLink accountId={accountId} name={accountName} />,
          },
          { header: text.codeEnd, cell: ({ codeEnd }) => `…${codeEnd}` },
          { header: text.by, cell: ({ redeemedBy }) => redeemedBy },
        ]}
        empty={<EmptyState title={text.noRedemptions} />}
      />
    </Modal>
  );
}
