import { Checkbox, Select, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import type { Member } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { changeOf, draftOf, isComplete } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { OF_KEYS_ALONE } from '../../parts/limits/limits-in-short.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { useTexts } from '../../text/language.tsx';
import { membersTexts } from './texts.ts';

/** The dialogs of a member that owners and operators have. */

interface MemberDialogProps {
  readonly member: Member;
  /** Of an operator: the account; `null`: the own one. */
  readonly accountId: string | null;
  readonly onClose: () => void;
}

/** Limits what a member may use by all keys. Only what was changed is sent. */
export function MemberLimitsDialog({
  member,
  accountId,
  models,
  onClose,
}: MemberDialogProps & { readonly models: readonly string[] }) {
  const text = useTexts(membersTexts);
  const limitsText = useTexts(limitsTexts);
  const [draft, set, opened] = useDraft(() => draftOf({ ...OF_KEYS_ALONE, ...member }));
  const changed = () => {
    // Members have none of the others, whose fields are not shown.
    const {
      requestsPerMinute: _,
      tokensPerMinute: __,
      modelLimits: ___,
      allowedNetworks: ____,
      ...body
    } = changeOf(opened, draft);
    return Object.keys(body).length === 0 ? null : body;
  };
  const { userId } = member;
  const common = {
    title: text.limitsOf(member.name),
    submitLabel: text.changeLimits,
    size: 'lg' as const,
    noValidate: true,
    isOpen: true,
    onClose,
    problem: () => (isComplete(draft) ? null : limitsText.incomplete),
    onDone: () => notifications.show({ color: 'teal', message: text.limitsChanged }),
  };
  const fields = (
    <>
      <Text size="sm">{text.limitsHint}</Text>
      <LimitFields draft={draft} onChange={set} models={models} isOfMember />
    </>
  );
  if (accountId === null) {
    const input = () => {
      const body = changed();
      return body && { path: { id: userId }, body };
    };
    return (
      <ChangeDialog {...common} endpoint="PATCH /account/v1/members/{id}" input={input}>
        {fields}
      </ChangeDialog>
    );
  }
  const input = () => {
    const body = changed();
    return body && { path: { id: accountId }, body: { userId, ...body } };
  };
  return (
    <ChangeDialog {...common} endpoint="PATCH /admin/v1/accounts/{id}/members" input={input}>
      {fields}
    </ChangeDialog>
  );
}

interface RemoveDialogProps extends MemberDialogProps {
  /** Those who may get the keys. */
  readonly others: readonly Member[];
  readonly children: ReactNode;
}

/** Removes a member; the keys are revoked, unless they are to stay or to be somebody else's. */
export function RemoveMemberDialog({ member, accountId, others, onClose, children }: RemoveDialogProps) {
  const text = useTexts(membersTexts);
  const [{ revokes, heirId }, set] = useDraft(() => ({ revokes: true, heirId: null as string | null }));
  const keys = { ...(revokes ? { keys: 'revoke' as const } : heirId !== null && { keysTo: heirId }) };
  const common = {
    title: text.removeTitle(member.name),
    submitLabel: text.remove,
    isDangerous: true,
    isOpen: true,
    onClose,
    onDone: () => notifications.show({ color: 'teal', message: text.removed }),
  };
  const fields = (
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
          value={heirId}
          onChange={(chosen) => set({ heirId: chosen })}
          data={others.map(({ userId, name }) => ({ value: userId, label: name }))}
        />
      )}
    </Stack>
  );
  if (accountId === null) {
    return (
      <ChangeDialog
        {...common}
        endpoint="DELETE /account/v1/members/{id}"
        input={() => ({ path: { id: member.userId }, query: keys })}
      >
        {fields}
      </ChangeDialog>
    );
  }
  return (
    <ChangeDialog
      {...common}
      endpoint="DELETE /admin/v1/accounts/{id}/members"
      input={() => ({ path: { id: accountId }, query: { userId: member.userId, ...keys } })}
    >
      {fields}
    </ChangeDialog>
  );
}
