import { Text, TextInput } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Call } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { fromNano, toNano } from '../../text/yuan.ts';
import { Facts } from '../facts.tsx';
import { Yuan } from '../figures.tsx';
import { ChangeDialog } from '../forms/change-dialog.tsx';
import { YuanField } from '../forms/number-fields.tsx';
import { isYuan, textOrNull } from '../forms/number-text.ts';
import { useDraft } from '../forms/use-draft.ts';
import { CallLink } from '../links.tsx';
import { ErrorNotice } from '../notices.tsx';
import { refundTexts } from './refund-texts.ts';

interface RefundDialogProps {
  readonly callId: string | null;
  readonly onClose: () => void;
}

export function RefundDialog({ callId, onClose }: RefundDialogProps) {
  const text = useTexts(refundTexts);
  const format = useFormat();
  const [{ amount, memo }, field] = useDraft(() => ({ amount: '', memo: '' }), callId !== null);
  const read = useRead('GET /admin/v1/calls/{id}', { path: { id: callId ?? '' } }, { isWanted: callId !== null });
  const call = read.data?.id === callId ? read.data : null;
  const charge = call?.chargeYuan ?? '0';
  const refunded = call?.refundedYuan ?? '0';
  const left = fromNano(toNano(charge) - toNano(refunded));
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/calls/{id}/refunds"
      title={text.title}
      submitLabel={isYuan(amount) ? text.refundOf(format.yuan(amount)) : text.refundAll}
      isOpen={callId !== null}
      onClose={onClose}
      input={() => ({
        path: { id: callId ?? '' },
        body: { amountYuan: textOrNull(amount), memo: textOrNull(memo) },
      })}
      doneText={({ amountYuan, balanceYuan }) => text.done(format.yuan(amountYuan), format.yuan(balanceYuan))}
    >
      <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />
      {call !== null && (
        <Facts
          facts={[
            [text.call, <CallLink key="call" callId={call.id} isWhole />],
            [text.charged, <Yuan key="charged" amount={charge} />],
            [text.refunded, <Yuan key="refunded" amount={refunded} />],
            [text.left, <Yuan key="left" amount={left} />],
          ]}
        />
      )}
      {call !== null && left === '0' && <Text size="sm">{text.nothingLeft}</Text>}
      <YuanField label={text.amountInYuan} description={text.amountHint} data-autofocus {...field('amount')} />
      <TextInput label={text.memo} description={text.memoHint} maxLength={200} {...field('memo')} />
    </ChangeDialog>
  );
}

/** Whether part of the charge is not refunded yet. */
export function isRefundable({ chargeYuan, refundedYuan }: Pick<Call, 'chargeYuan' | 'refundedYuan'>): boolean {
  return chargeYuan !== null && /[1-9]/.test(chargeYuan) && chargeYuan !== refundedYuan;
}
