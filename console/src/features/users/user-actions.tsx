import { Group } from '@mantine/core';
import type { User } from '../../api/types.ts';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';
import { UserDialog } from './user-dialogs.tsx';

interface UserActionsProps {
  readonly user: User;
  readonly onLink: (link: ShownLink) => void;
}

export function UserActions({ user, onLink }: UserActionsProps) {
  const text = useTexts(usersTexts);
  const [open, dialog] = useDialog();
  const path = { id: user.id };
  const isActive = user.status === 'active';
  return (
    <Group gap={4} maw={360}>
      <SmallButton onClick={open}>{text.edit}</SmallButton>
      <UserDialog user={user} {...dialog} onLink={onLink} />
      {user.unconfirmedTokenId !== null && (
        <ConfirmButton
          label={text.confirm}
          question={text.confirmQuestion(user.name)}
          endpoint="POST /admin/v1/users/{id}/confirm"
          input={{ path }}
        />
      )}
      {isActive && (
        <ConfirmButton
          label={text.newLink}
          question={text.linkQuestion(user.name)}
          endpoint="POST /admin/v1/users/{id}/links"
          input={{ path }}
          onDone={(link) => onLink({ ...link, name: user.name })}
        />
      )}
      <ConfirmButton
        label={text.signOut}
        question={text.signOutQuestion(user.name)}
        endpoint="DELETE /admin/v1/users/{id}/sessions"
        input={{ path }}
      />
      <ConfirmButton
        label={isActive ? text.suspend : text.reactivate}
        question={isActive ? text.suspendQuestion(user.name) : text.reactivateQuestion(user.name)}
        isDangerous={isActive}
        endpoint="PATCH /admin/v1/users/{id}"
        input={{ path, body: { status: isActive ? 'suspended' : 'active' } }}
      />
      <ConfirmButton
        label={text.delete}
        question={text.removeQuestion(user.name)}
        isDangerous
        endpoint="DELETE /admin/v1/users/{id}"
        input={{ path }}
      />
    </Group>
  );
}
