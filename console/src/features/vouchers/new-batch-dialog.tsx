import { NativeSelect, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { NewVoucherBatch } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { InstantInput } from '../../parts/forms/instant-input.tsx';
import { CountField, YuanField } from '../../parts/forms/number-fields.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { fromLocalTime } from '../../text/local-time.ts';
import { useTimezone } from '../../text/timezone.tsx';
import { enteredNano, fromNano } from '../../text/yuan.ts';
import { vouchersTexts } from './operator-texts.ts';

interface NewBatchDialogProps extends DialogProps {
  readonly onCreated: (batch: NewVoucherBatch) => void;
}

const emptyDraft = () => ({ name: '', kind: 'value', amount: '', planId: '', count: '', expires: '' });

export function NewBatchDialog({ onCreated, ...dialog }: NewBatchDialogProps) {
  const text = useTexts(vouchersTexts);
  const { zone } = useTimezone();
  const format = useFormat();
  const plans = useRead('GET /admin/v1/plans', {}, { isWanted: dialog.isOpen });
  const [draft, field] = useDraft(emptyDraft, dialog.isOpen);
  const isValue = draft.kind === 'value';
  const each = enteredNano(draft.amount);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/vouchers"
      title={text.create}
      {...dialog}
      input={() => ({
        body: {
          name: draft.name,
          count: Number(draft.count),
          expiresAt: fromLocalTime(draft.expires, zone) || null,
          ...(isValue ? { amountYuan: draft.amount } : { planId: draft.planId }),
        },
      })}
      onDone={onCreated}
    >
      <TextInput
        label={text.name}
        description={text.nameHint}
        required
        data-autofocus
        maxLength={200}
        {...field('name')}
      />
      <SegmentedControl
        aria-label={text.gives}
        fullWidth
        {...field('kind')}
        data={[
          { value: 'value', label: text.givesMoney },
          { value: 'plan', label: text.givesPlan },
        ]}
      />
      {isValue ? (
        <YuanField label={text.amount} required {...field('amount')} />
      ) : (
        <>
          <ErrorNotice error={plans.error} onRetry={() => void plans.refetch()} />
          <NativeSelect
            label={text.plan}
            required
            {...field('planId')}
            data={[
              { value: '', label: text.choosePlan },
              ...(plans.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
        </>
      )}
      <CountField label={text.count} description={text.countHint} required min={1} {...field('count')} />
      {isValue && each !== null && /^\d{1,5}$/.test(draft.count) && (
        <Text size="sm" role="status">
          {text.total(format.yuan(fromNano(each * BigInt(draft.count))))}
        </Text>
      )}
      <InstantInput label={text.expires} description={text.expiresHint} {...field('expires')} />
    </ChangeDialog>
  );
}
