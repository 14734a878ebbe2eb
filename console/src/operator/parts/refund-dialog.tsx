import { Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useEffect, useState } from 'react';
import { useRead } from '../../api/queries.ts';
import { ChangeDialog } from '../../parts/change-dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { AmountInput, amountOrNull } from '../../parts/form-fields.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { enteredNano, fromNano, toNano } from '../../text/yuan.ts';
import { CallLink } from '../parts/links.tsx';
import { moneyTexts } from './money-texts.ts';

interface RefundDialogProps {
  /** `null`: closed. */
  readonly callId: string | null;
  readonly onClose: () => void;
}

const EMPTY = { amount: '', memo: '' };

/** Gives the charge of a call back, or a part of it. */
export function RefundDialog({ callId, onClose }: RefundDialogProps) {
  const text = useTexts(moneyTexts);
  const format = useFormat();
  const [{ amount, memo }, setDraft] = useState(EMPTY);
  useEffect(() => {
    if (callId !== null) setDraft(EMPTY);
  }, [callId]);
  const read = useRead('GET /admin/v1/calls/{id}', { path: { id: callId ?? '' } }, { isWanted: callId !== null });
  const call = read.data?.id === callId ? read.data : null;
  const charge = call?.chargeYuan ?? '0';
  const refunded = call?.refundedYuan ?? '0';
  const left = fromNano(toNano(charge) - toNano(refunded));
  const isAmount = enteredNano(amount) !== null;
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/calls/{id}/refunds"
      title={text.refundTitle}
      submitLabel={isAmount ? text.refundOf(format.yuan(amount.trim())) : text.refundAll}
      isOpen={callId !== null}
      onClose={onClose}
      input={() => ({
        path: { id: callId ?? '' },
        body: { amountYuan: amountOrNull(amount), memo: memo.trim() === '' ? null : memo.trim() },
      })}
      onDone={({ balanceYuan }) =>
        notifications.show({ color: 'teal', title: text.refundTitle, message: text.done(format.yuan(balanceYuan)) })
      }
    >
      <ErrorNotice error={read.error} />
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
      <AmountInput
        label={text.amount}
        description={text.refundAmountHint}
        data-autofocus
        value={amount}
        onChange={(entered) => setDraft({ memo, amount: entered })}
      />
      <TextInput
        label={text.memo}
        description={`${text.optional} ${text.memoHint}`}
        maxLength={200}
        value={memo}
        onChange={({ currentTarget }) => setDraft({ amount, memo: currentTarget.value })}
      />
    </ChangeDialog>
  );
}
