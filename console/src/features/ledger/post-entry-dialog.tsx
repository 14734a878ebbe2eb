import { Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { Account } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { enteredNano, fromNano, toNano } from '../../text/yuan.ts';
import { BalanceChange } from './balance-change.tsx';
import { moneyTexts } from './operator-texts.ts';

interface PostEntryDialogProps extends DialogProps {
  readonly kind: 'top_up' | 'adjustment';
  readonly account: Account;
}

const emptyDraft = () => ({ amount: '', memo: '', reference: '' });

/** Posts a top-up or an adjustment. Shows the resulting balance before sending. */
export function PostEntryDialog({ kind, account, ...dialog }: PostEntryDialogProps) {
  const text = useTexts(moneyTexts);
  const format = useFormat();
  const [{ amount, memo, reference }, field] = useDraft(emptyDraft, dialog.isOpen);
  const isTopUp = kind === 'top_up';
  const entered = enteredNano(amount);
  const isAmount = entered !== null;
  const [title, titleWith] = isTopUp ? [text.topUp, text.topUpOf] : [text.adjust, text.adjustBy];
  return (
    <ChangeDialog
      endpoint={isTopUp ? 'POST /admin/v1/accounts/{id}/top-ups' : 'POST /admin/v1/accounts/{id}/adjustments'}
      title={title}
      submitLabel={isAmount ? titleWith(format.yuan(amount)) : title}
      {...dialog}
      input={() => ({
        path: { id: account.id },
        body: {
          amountYuan: amount,
          memo: textOrNull(memo),
          ...(isTopUp ? { reference: textOrNull(reference) } : {}),
        },
      })}
      onDone={({ balanceYuan }) => {
        notifications.show({ color: 'teal', title, message: text.done(format.yuan(balanceYuan)) });
      }}
    >
      {!isTopUp && <Text size="sm">{text.adjustHint}</Text>}
      <YuanField
        label={text.amount}
        {...(isTopUp ? {} : { description: text.amountHint })}
        isSigned={!isTopUp}
        required
        data-autofocus
        {...field('amount')}
      />
      <TextInput
        label={text.memo}
        description={isTopUp ? `${text.optional} ${text.memoHint}` : text.memoHint}
        required={!isTopUp}
        maxLength={200}
        {...field('memo')}
      />
      {isTopUp && (
        <TextInput
          label={text.reference}
          description={`${text.optional} ${text.referenceHint}`}
          maxLength={64}
          {...field('reference')}
        />
      )}
      <BalanceChange
        now={account.balanceYuan}
        then={entered === null ? null : fromNano(toNano(account.balanceYuan) + entered)}
      />
    </ChangeDialog>
  );
}
