import { Checkbox, TextInput } from '@mantine/core';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { goTo, hashOf } from '../../parts/location.tsx';
import { useTexts } from '../../text/language.tsx';
import { accountsTexts } from './operator-texts.ts';

const emptyDraft = () => ({ name: '', email: '', isVerified: true, balance: '', cap: '' });

interface NewAccountDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Creates an account, and leads to its page. */
export function NewAccountDialog({ isOpen, onClose }: NewAccountDialogProps) {
  const text = useTexts(accountsTexts);
  const [draft, set] = useDraft(emptyDraft, isOpen);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/accounts"
      title={text.create}
      submitLabel={text.create}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({
        body: {
          name: draft.name,
          email: textOrNull(draft.email),
          verified: draft.isVerified,
          balanceYuan: textOrNull(draft.balance),
          dailySpendCapYuan: textOrNull(draft.cap),
        },
      })}
      onDone={({ id }) => goTo(hashOf(`/operator/accounts/${id}`))}
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
        description={text.optional}
        value={draft.email}
        onChange={({ currentTarget }) => set({ email: currentTarget.value })}
      />
      <Checkbox
        label={text.verified}
        description={text.verifiedHint}
        checked={draft.isVerified}
        onChange={({ currentTarget }) => set({ isVerified: currentTarget.checked })}
      />
      <YuanField
        label={text.balanceNow}
        description={text.optional}
        value={draft.balance}
        onChange={(balance) => set({ balance })}
      />
      <YuanField label={text.cap} description={text.capHint} value={draft.cap} onChange={(cap) => set({ cap })} />
    </ChangeDialog>
  );
}
