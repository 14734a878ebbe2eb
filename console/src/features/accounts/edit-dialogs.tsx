import { Text, TextInput } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Account } from '../../api/types.ts';
import { basisPointsOf, percentOf } from '../../parts/basis-points.ts';
import { callerTexts } from '../../parts/calls/caller-texts.ts';
import { RecordingSwitches } from '../../parts/calls/recording-switches.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { changeById, changedMembers } from '../../parts/forms/changed-members.ts';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { areRatesComplete, changeOfRates, ratesDraftOf } from '../../parts/limits/limit-draft.ts';
import { RateFields } from '../../parts/limits/rate-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { useModelNames } from '../../parts/model-names.ts';
import { useTexts } from '../../text/language.tsx';
import { GroupSelect } from './group-select.tsx';
import { accountTexts } from './summary-texts.ts';

export interface EditDialogProps extends DialogProps {
  readonly account: Account;
}

export function DetailsDialog({ account, ...dialog }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const [draft, field, , opened] = useDraft(() => ({ name: account.name, email: account.email ?? '' }), dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editDetails}
      submitLabel={text.save}
      {...dialog}
      input={() => changeById(account.id, changedMembers(opened, draft))}
    >
      <TextInput label={text.name} required data-autofocus maxLength={200} {...field('name')} />
      <TextInput label={text.email} type="email" required={account.email !== null} {...field('email')} />
    </ChangeDialog>
  );
}

export function RecordingDialog({ account, ...dialog }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const { recordingLead } = useTexts(callerTexts);
  const [draft, , set, opened] = useDraft(() => account.recording, dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editRecording}
      submitLabel={text.save}
      {...dialog}
      input={() => {
        const recording = changedMembers(opened, draft);
        return changeById(account.id, Object.keys(recording).length === 0 ? {} : { recording });
      }}
    >
      <Text size="sm">{recordingLead}</Text>
      <RecordingSwitches value={draft} onChange={set} />
    </ChangeDialog>
  );
}

export function PricesDialog({ account, ...dialog }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const [draft, field, , opened] = useDraft(
    () => ({
      cap: account.dailySpendCapYuan ?? '',
      percent: percentOf(account.priceFactorBasisPoints),
      groupId: account.groupId ?? '',
    }),
    dialog.isOpen,
  );
  const bodyOf = ({ cap, percent, groupId }: typeof draft) => ({
    dailySpendCapYuan: textOrNull(cap),
    priceFactorBasisPoints: basisPointsOf(percent),
    groupId: textOrNull(groupId),
  });
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editPrices}
      submitLabel={text.save}
      {...dialog}
      input={() => changeById(account.id, changedMembers(bodyOf(opened), bodyOf(draft)))}
    >
      <YuanField label={text.cap} description={text.capHint} data-autofocus {...field('cap')} />
      <TextInput
        label={text.priceFactor}
        description={text.factorHint}
        required
        inputMode="decimal"
        autoComplete="off"
        pattern="[0-9]{1,4}([.][0-9]{1,2})?"
        rightSection="%"
        {...field('percent')}
      />
      <GroupSelect {...field('groupId')} present={account.groupId} />
    </ChangeDialog>
  );
}

export function LowBalanceDialog({ account, ...dialog }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const path = { id: account.id };
  const stored = useRead('GET /admin/v1/accounts/{id}/low-balance', { path }).data;
  const [draft, field] = useDraft(() => ({ threshold: stored?.thresholdYuan ?? '' }), dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="PUT /admin/v1/accounts/{id}/low-balance"
      title={text.editLowBalance}
      submitLabel={text.save}
      {...dialog}
      input={() => ({ path, body: { thresholdYuan: textOrNull(draft.threshold) } })}
    >
      <YuanField label={text.lowBalance} description={text.lowBalanceHint} data-autofocus {...field('threshold')} />
    </ChangeDialog>
  );
}

export function RatesDialog({ account, ...dialog }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const models = useModelNames(dialog.isOpen);
  const { incomplete } = useTexts(limitsTexts);
  const [draft, , set, opened] = useDraft(() => ratesDraftOf(account), dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editRates}
      submitLabel={text.save}
      size="lg"
      {...dialog}
      input={() => changeById(account.id, changeOfRates(opened, draft))}
      problem={() => (areRatesComplete(draft) ? null : incomplete)}
    >
      <RateFields draft={draft} onChange={set} models={models} />
    </ChangeDialog>
  );
}
