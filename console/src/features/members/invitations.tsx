import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { type Role, RoleSelect } from './role-select.tsx';
import { membersTexts } from './texts.ts';

export function Invitations() {
  const text = useTexts(membersTexts);
  const read = useRead('GET /account/v1/invitations', {});
  const invitations = read.data?.data ?? [];
  return (
    <Section title={text.invitations} lead={text.invitationsLead}>
      <ReadState read={read} />
      {read.data !== undefined && invitations.length === 0 && (
        <EmptyState title={text.noInvitations} hint={text.noInvitationsHint} />
      )}
      {invitations.length > 0 && (
        <DataTable
          label={text.invitations}
          items={invitations}
          columns={[
            { header: text.email, cell: ({ email }) => email ?? text.anybody },
            { header: text.role, cell: ({ role }) => text[role] },
            { header: text.madeBy, cell: ({ createdBy }) => createdBy },
            { header: text.expires, cell: ({ expiresAt }) => <Instant at={expiresAt} isRelative /> },
          ]}
          actions={({ id }) => (
            <ConfirmButton
              label={text.takeBack}
              question={text.takeBackQuestion}
              endpoint="DELETE /account/v1/invitations/{id}"
              input={{ path: { id } }}
              doneText={text.takenBack}
            />
          )}
        />
      )}
    </Section>
  );
}

export function InviteButton() {
  const text = useTexts(membersTexts);
  const account = useRead('GET /account/v1/account', {}).data;
  const isBalanceSeen = account?.role === 'owner' ? account.membersSeeBalance : undefined;
  const [open, dialog] = usePlaceDialog('invite');
  const hasMail = useRead('GET /account/v1/password-resets', {}).data?.isAvailable === true;
  const [{ email, role }, field] = useDraft(() => ({ email: '', role: 'member' as Role }), dialog.isOpen);
  const [made, setMade] = useState<ResponseOf<'POST /account/v1/invitations'> | null>(null);
  return (
    <>
      <Button onClick={open}>{text.invite}</Button>
      <ChangeDialog
        endpoint="POST /account/v1/invitations"
        title={text.invite}
        {...dialog}
        input={() => ({ body: { email: textOrNull(email), role } })}
        onDone={setMade}
      >
        <TextInput
          label={text.email}
          description={hasMail ? text.inviteMailedHint : text.inviteEmailHint}
          placeholder={text.optional}
          type="email"
          maxLength={200}
          {...field('email')}
          data-autofocus
        />
        <RoleSelect {...field('role')} />
        {role === 'member' && isBalanceSeen !== undefined && (
          <Text size="sm">{isBalanceSeen ? text.balanceSeen : text.balanceHidden}</Text>
        )}
      </ChangeDialog>
      <SecretDialog
        title={text.invited}
        secret={made?.link ?? null}
        hint={made?.linkMailedTo == null ? text.linkOnce : text.linkOnceMailed}
        onClose={() => setMade(null)}
      >
        <Stack gap={4}>
          {made?.linkMailedTo != null && <Text fw={600}>{text.mailedTo(made.linkMailedTo)}</Text>}
          <Text>{text.linkWarning}</Text>
          {made?.linkHint != null && <Text size="sm">{made.linkHint}</Text>}
        </Stack>
      </SecretDialog>
    </>
  );
}
