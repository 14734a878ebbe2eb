import { Checkbox, TextInput } from '@mantine/core';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { goTo, hashOf } from '../../parts/location.ts';
import { useTexts } from '../../text/language.tsx';
import { GroupSelect } from './group-select.tsx';
import { accountsTexts } from './operator-texts.ts';
import { accountTexts } from './summary-texts.ts';

const emptyDraft = () => ({ name: '', email: '', isVerified: true, balance: '', groupId: '', cap: '' });

export function NewAccountDialog(dialog: DialogProps) {
  const text = useTexts(accountsTexts);
  const { cap, capHint } = useTexts(accountTexts);
  const [draft, field, set] = useDraft(emptyDraft, dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/accounts"
      title={text.create}
      {...dialog}
      input={() => ({
        body: {
          name: draft.name,
          email: textOrNull(draft.email),
          verified: draft.isVerified,
          balanceYuan: textOrNull(draft.balance),
          groupId: textOrNull(draft.groupId),
          dailySpendCapYuan: textOrNull(draft.cap),
        },
      })}
      onDone={({ id }) => goTo(hashOf(`/operator/accounts/${id}`))}
    >
      <TextInput label={text.name} required data-autofocus maxLength={200} {...field('name')} />
      <TextInput label={text.email} type="email" description={text.optional} {...field('email')} />
      <Checkbox
        label={text.verified}
        description={text.verifiedHint}
        checked={draft.isVerified}
        onChange={({ currentTarget }) => set({ isVerified: currentTarget.checked })}
      />
      <YuanField label={text.balanceNow} description={text.optional} {...field('balance')} />
      <GroupSelect {...field('groupId')} present={null} />
      <YuanField label={cap} description={capHint} {...field('cap')} />
    </ChangeDialog>
  );
}
