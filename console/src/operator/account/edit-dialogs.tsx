import { TextInput } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { basisPointsOf, percentOf } from '../../parts/basis-points.ts';
import { ChangeDialog } from '../../parts/change-dialog.tsx';
import { AmountInput, amountOrNull } from '../../parts/form-fields.tsx';
import { RateLimitFields, rateLimitDraftOf, rateLimitsOf } from '../../parts/rate-limit-fields.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useDraft } from '../../parts/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { useModelNames } from '../parts/model-names.ts';
import type { EditDialogProps } from './summary-tab.tsx';
import { accountTexts } from './texts.ts';

export function DetailsDialog({ account, isOpen, onClose }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const common = useTexts(commonTexts);
  const [draft, set] = useDraft(isOpen, () => ({ name: account.name, email: account.email ?? '' }));
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editDetails}
      submitLabel={common.save}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({
        path: { id: account.id },
        body: { name: draft.name, ...(draft.email === '' ? {} : { email: draft.email }) },
      })}
    >
      <TextInput
        label={text.name}
        required
        data-autofocus
        maxLength={200}
        value={draft.name}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <TextInput
        label={text.email}
        type="email"
        required={account.email !== null}
        value={draft.email}
        onChange={({ currentTarget }) => set({ email: currentTarget.value })}
      />
    </ChangeDialog>
  );
}

export function PricesDialog({ account, isOpen, onClose }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const common = useTexts(commonTexts);
  const [draft, set] = useDraft(isOpen, () => ({
    cap: account.dailySpendCapYuan ?? '',
    percent: percentOf(account.priceFactorBasisPoints),
  }));
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editPrices}
      submitLabel={common.save}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({
        path: { id: account.id },
        body: { dailySpendCapYuan: amountOrNull(draft.cap), priceFactorBasisPoints: basisPointsOf(draft.percent) },
      })}
    >
      <AmountInput
        label={text.cap}
        description={text.capHint}
        data-autofocus
        value={draft.cap}
        onChange={(cap) => set({ cap })}
      />
      <TextInput
        label={text.priceFactor}
        description={text.factorHint}
        required
        inputMode="decimal"
        autoComplete="off"
        pattern="[0-9]{1,4}([.][0-9]{1,2})?"
        rightSection="%"
        value={draft.percent}
        onChange={({ currentTarget }) => set({ percent: currentTarget.value })}
      />
    </ChangeDialog>
  );
}

export function LowBalanceDialog({ account, isOpen, onClose }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const common = useTexts(commonTexts);
  const path = { id: account.id };
  const stored = useRead('GET /admin/v1/accounts/{id}/low-balance', { path }).data;
  const [draft, set] = useDraft(isOpen, () => ({ threshold: stored?.thresholdYuan ?? '' }));
  return (
    <ChangeDialog
      endpoint="PUT /admin/v1/accounts/{id}/low-balance"
      title={text.editLowBalance}
      submitLabel={common.save}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({ path, body: { thresholdYuan: amountOrNull(draft.threshold) } })}
    >
      <AmountInput
        label={text.lowBalance}
        description={text.lowBalanceHint}
        data-autofocus
        value={draft.threshold}
        onChange={(threshold) => set({ threshold })}
      />
    </ChangeDialog>
  );
}

export function RatesDialog({ account, isOpen, onClose }: EditDialogProps) {
  const text = useTexts(accountTexts);
  const common = useTexts(commonTexts);
  const models = useModelNames(isOpen);
  const [draft, set] = useDraft(isOpen, () => rateLimitDraftOf(account));
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/accounts/{id}"
      title={text.editRates}
      submitLabel={common.save}
      size="lg"
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({ path: { id: account.id }, body: rateLimitsOf(draft, account) })}
    >
      <RateLimitFields draft={draft} onChange={set} models={models} />
    </ChangeDialog>
  );
}
