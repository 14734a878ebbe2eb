import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useChange } from '../../api/queries.ts';
import type { User } from '../../api/types.ts';
import { ConfirmButton } from '../../parts/forms/dialogs.tsx';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';
import { UserDialog } from './user-dialogs.tsx';

interface UserActionsProps {
  readonly user: User;
  readonly onLink: (link: ShownLink) => void;
}

/** What an operator does with one user. */
export function UserActions({ user, onLink }: UserActionsProps) {
  const text = useTexts(usersTexts);
  const [isEditing, { open, close }] = useDisclosure(false);
  const { mutateAsync: change } = useChange('PATCH /admin/v1/users/{id}');
  const { mutateAsync: makeLink } = useChange('POST /admin/v1/users/{id}/links');
  const { mutateAsync: signOut } = useChange('DELETE /admin/v1/users/{id}/sessions');
  const { mutateAsync: remove } = useChange('DELETE /admin/v1/users/{id}');
  const path = { id: user.id };
  const isActive = user.status === 'active';
  return (
    <Group gap={4} maw={360}>
      <Button size="compact-sm" variant="default" onClick={open}>
        {text.edit}
      </Button>
      <UserDialog user={user} isOpen={isEditing} onClose={close} onLink={onLink} />
      {isActive && (
        <ConfirmButton
          label={text.newLink}
          question={text.linkQuestion(user.name)}
          onConfirm={async () => onLink({ ...(await makeLink({ path })), name: user.name })}
        />
      )}
      <ConfirmButton
        label={text.signOut}
        question={text.signOutQuestion(user.name)}
        onConfirm={() => signOut({ path })}
      />
      <ConfirmButton
        label={isActive ? text.suspend : text.reactivate}
        question={isActive ? text.suspendQuestion(user.name) : text.reactivateQuestion(user.name)}
        isDangerous={isActive}
        onConfirm={() => change({ path, body: { status: isActive ? 'suspended' : 'active' } })}
      />
      <ConfirmButton
        label={text.delete}
        question={text.removeQuestion(user.name)}
        isDangerous
        onConfirm={() => remove({ path })}
      />
    </Group>
  );
}
