import { Menu } from '@mantine/core';
import type { User } from '../../api/types.ts';
import { useConfirm } from '../../parts/forms/use-confirm.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
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
  const [ask, confirmation] = useConfirm();
  const path = { id: user.id };
  const isActive = user.status === 'active';
  const confirm = () =>
    ask({
      label: text.confirm,
      question: text.confirmQuestion(user.name),
      endpoint: 'POST /admin/v1/users/{id}/confirm',
      input: { path },
    });
  const newLink = () =>
    ask({
      label: text.newLink,
      question: text.linkQuestion(user.name),
      endpoint: 'POST /admin/v1/users/{id}/links',
      input: { path },
      onDone: (link) => onLink({ ...link, name: user.name }),
    });
  const signOut = () =>
    ask({
      label: text.signOut,
      question: text.signOutQuestion(user.name),
      endpoint: 'DELETE /admin/v1/users/{id}/sessions',
      input: { path },
    });
  const suspend = () =>
    ask({
      label: isActive ? text.suspend : text.reactivate,
      question: isActive ? text.suspendQuestion(user.name) : text.reactivateQuestion(user.name),
      isDangerous: isActive,
      endpoint: 'PATCH /admin/v1/users/{id}',
      input: { path, body: { status: isActive ? 'suspended' : 'active' } },
    });
  const remove = () =>
    ask({
      label: text.delete,
      question: text.removeQuestion(user.name),
      isDangerous: true,
      endpoint: 'DELETE /admin/v1/users/{id}',
      input: { path },
    });
  return (
    <>
      <RowMenu label={text.actionsFor(user.name)}>
        <Menu.Item onClick={open}>{text.edit}</Menu.Item>
        {user.unconfirmedTokenId !== null && <Menu.Item onClick={confirm}>{text.confirm}</Menu.Item>}
        {isActive && <Menu.Item onClick={newLink}>{text.newLink}</Menu.Item>}
        <Menu.Item onClick={signOut}>{text.signOut}</Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={suspend}>{isActive ? text.suspend : text.reactivate}</Menu.Item>
        <Menu.Item color="red" onClick={remove}>
          {text.delete}
        </Menu.Item>
      </RowMenu>
      <UserDialog user={user} {...dialog} onLink={onLink} />
      {confirmation}
    </>
  );
}
