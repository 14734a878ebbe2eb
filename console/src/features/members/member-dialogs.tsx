import { Checkbox, Select, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { BodyOf } from '../../api/client.ts';
import type { Member } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { changeOf, draftOf, isComplete } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { OF_KEYS_ALONE } from '../../parts/limits/limits-in-short.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { useTexts } from '../../text/language.tsx';
import { membersTexts } from './texts.ts';

interface MemberDialogProps {
  readonly member: Member;
  /** The account, for operators; `null` for the selected account of an owner. */
  readonly accountId: string | null;
  readonly onClose: () => void;
}

/** Sends only the changed limits, which apply to all keys of the member together. */
export function MemberLimitsDialog(props: MemberDialogProps & { readonly models: readonly string[] }) {
  const { member, accountId, models, onClose } = props;
  const text = useTexts(membersTexts);
  const limitsText = useTexts(limitsTexts);
  const [draft, , set, opened] = useDraft(() => draftOf({ ...OF_KEYS_ALONE, ...member }));
  const change = () => {
    // The fields in `OF_KEYS_ALONE` are not shown for members, so they never differ.
    const body: BodyOf<'PATCH /account/v1/members/{id}'> = changeOf(opened, draft);
    const { userId } = member;
    if (Object.keys(body).length === 0) return null;
    return accountId === null ? { path: { id: userId }, body } : { path: { id: accountId }, body: { userId, ...body } };
  };
  return (
    <ChangeDialog
      endpoint={accountId === null ? 'PATCH /account/v1/members/{id}' : 'PATCH /admin/v1/accounts/{id}/members'}
      title={text.limitsOf(member.name)}
      submitLabel={text.changeLimits}
      size="lg"
      noValidate
      isOpen
      onClose={onClose}
      input={change}
      problem={() => (isComplete(draft) ? null : limitsText.incomplete)}
      doneText={text.limitsChanged}
    >
      <Text size="sm">{text.limitsHint}</Text>
      <LimitFields draft={draft} onChange={set} models={models} isOfMember />
    </ChangeDialog>
  );
}

interface RemoveDialogProps extends MemberDialogProps {
  /** Members who may receive the keys. */
  readonly others: readonly Member[];
  readonly children: ReactNode;
}

/** Removes a member and revokes the keys, unless the account or another member keeps them. */
export function RemoveMemberDialog({ member, accountId, others, onClose, children }: RemoveDialogProps) {
  const text = useTexts(membersTexts);
  const { userId } = member;
  const [{ revokes, heirId }, field, set] = useDraft(() => ({ revokes: true, heirId: null as string | null }));
  const keys = { ...(revokes ? { keys: 'revoke' as const } : heirId !== null && { keysTo: heirId }) };
  return (
    <ChangeDialog
      endpoint={accountId === null ? 'DELETE /account/v1/members/{id}' : 'DELETE /admin/v1/accounts/{id}/members'}
      title={text.removeTitle(member.name)}
      submitLabel={text.remove}
      isDangerous
      isOpen
      onClose={onClose}
      input={() =>
        accountId === null
          ? { path: { id: userId }, query: keys }
          : { path: { id: accountId }, query: { userId, ...keys } }
      }
      doneText={text.removed}
    >
      <Stack gap="sm">
        {children}
        <Checkbox
          label={text.revokeKeys}
          checked={revokes}
          onChange={({ currentTarget }) => set({ revokes: currentTarget.checked })}
        />
        {!revokes && (
          <Select
            label={text.handKeys}
            description={text.keysGoOn}
            placeholder={text.toNobody}
            clearable
            data={others.map((other) => ({ value: other.userId, label: other.name }))}
            {...field('heirId')}
          />
        )}
      </Stack>
    </ChangeDialog>
  );
}
