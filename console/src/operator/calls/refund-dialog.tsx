import { Button, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import type { Call } from '../../api/types.ts';
import { FormDialog } from '../../parts/dialogs.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { correctionTexts } from './correction-texts.ts';

/** Gives the charge of a call back, or a part of it. */
export function RefundButton({ call }: { readonly call: Call }) {
  const text = useTexts(correctionTexts);
  const format = useFormat();
  const refund = useChange('POST /admin/v1/calls/{id}/refunds');
  const [isOpen, setIsOpen] = useState(false);
  const [amount, setAmount] = useState('');
  const [memo, setMemo] = useState('');
  const open = (): void => {
    refund.reset();
    setAmount('');
    setMemo('');
    setIsOpen(true);
  };
  // The button is gone when all is refunded, so what follows is not left to it.
  const submit = async (): Promise<void> => {
    const body = { amountYuan: amount.trim() || undefined, memo: memo.trim() || undefined };
    const { amountYuan, balanceYuan } = await refund.mutateAsync({ path: { id: call.id }, body });
    setIsOpen(false);
    notifications.show({ color: 'teal', message: text.refundDone(format.yuan(amountYuan), format.yuan(balanceYuan)) });
  };
  return (
    <>
      <Button variant="default" onClick={open}>
        {text.refund}
      </Button>
      <FormDialog
        title={text.refundTitle}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={text.refund}
        onSubmit={() => void submit().catch(() => undefined)}
        isBusy={refund.isPending}
        error={refund.error}
      >
        <Facts
          facts={[
            [text.charged, <Yuan key="charge" amount={call.chargeYuan} />],
            [text.refundedBefore, <Yuan key="refunded" amount={call.refundedYuan} />],
          ]}
        />
        <TextInput
          label={text.amount}
          description={text.amountHint}
          inputMode="decimal"
          value={amount}
          onChange={({ currentTarget }) => setAmount(currentTarget.value)}
          data-autofocus
        />
        <TextInput
          label={text.memo}
          description={text.memoHint}
          maxLength={200}
          value={memo}
          onChange={({ currentTarget }) => setMemo(currentTarget.value)}
        />
      </FormDialog>
    </>
  );
}

/** Whether something of the charge is left to give back. */
export function isRefundable({ chargeYuan, refundedYuan }: Pick<Call, 'chargeYuan' | 'refundedYuan'>): boolean {
  return chargeYuan !== null && /[1-9]/.test(chargeYuan) && chargeYuan !== refundedYuan;
}
