import { Anchor, Button, Menu, Text } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { Member } from '../../api/types.ts';
import { useConfirm } from '../../parts/forms/use-confirm.tsx';
import { useDialog, usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { ListTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { useModelNames } from '../../parts/model-names.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { OneTimeLinkNotice, type ShownLink } from '../../parts/one-time-link.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { useMemberColumns } from './member-columns.tsx';
import { MemberLimitsDialog, RemoveMemberDialog } from './member-dialogs.tsx';
import { AddMemberDialog, InviteDialog } from './operator-dialogs.tsx';
import { peopleTexts } from './operator-texts.ts';
import { membersTexts } from './texts.ts';

type Dialog = { readonly kind: 'limits' | 'remove'; readonly member: Member };

export function PeopleTab({ accountId }: { readonly accountId: string }) {
  const text = useTexts(peopleTexts);
  const mayOperate = useMayOperate();
  const [openAdd, add] = useDialog();
  const [openInvite, invite] = usePlaceDialog('invite');
  const [link, setLink] = useState<ShownLink | null>(null);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const models = useModelNames(dialog !== null);
  const close = () => setDialog(null);
  const list = useList('GET /admin/v1/accounts/{id}/members', { path: { id: accountId } });
  const columns = useMemberColumns(({ userId, name, email }) => (
    <Anchor href={hashOf('/operator/users', { search: email ?? name })} size="sm" fw={600} title={userId}>
      {name}
    </Anchor>
  ));
  const actions = (member: Member) => (
    <MemberActions accountId={accountId} member={member} onLink={setLink} onOpen={setDialog} />
  );
  return (
    <Section
      title={text.title}
      lead={text.lead}
      actions={
        mayOperate && (
          <>
            <Button onClick={openInvite}>{text.invite}</Button>
            <Button variant="default" onClick={openAdd}>
              {text.add}
            </Button>
          </>
        )
      }
    >
      <OneTimeLinkNotice link={link} onClose={() => setLink(null)} />
      <ListTable
        label={text.title}
        list={list}
        idOf={({ userId }) => userId}
        columns={columns}
        actions={mayOperate && actions}
        empty={<EmptyState title={text.none} hint={text.noneHint} />}
      />
      {mayOperate && <InviteDialog accountId={accountId} {...invite} onLink={setLink} />}
      {dialog?.kind === 'limits' && (
        <MemberLimitsDialog member={dialog.member} accountId={accountId} models={models} onClose={close} />
      )}
      {dialog?.kind === 'remove' && (
        <RemoveMemberDialog
          member={dialog.member}
          accountId={accountId}
          others={list.items.filter(({ userId }) => userId !== dialog.member.userId)}
          onClose={close}
        >
          <Text>{text.removeQuestion(dialog.member.name)}</Text>
        </RemoveMemberDialog>
      )}
      <AddMemberDialog accountId={accountId} {...add} />
    </Section>
  );
}

interface MemberActionsProps {
  readonly accountId: string;
  readonly member: Member;
  readonly onLink: (link: ShownLink) => void;
  readonly onOpen: (dialog: Dialog) => void;
}

function MemberActions({ accountId, member, onLink, onOpen }: MemberActionsProps) {
  const text = useTexts(peopleTexts);
  const membersText = useTexts(membersTexts);
  const { userId, name, role } = member;
  const otherRole = role === 'owner' ? 'member' : 'owner';
  const [ask, confirmation] = useConfirm();
  const roleLabel = otherRole === 'owner' ? membersText.makeOwner : membersText.makeMember;
  const changeRole = () =>
    ask({
      label: roleLabel,
      question: text.roleQuestion(name),
      endpoint: 'POST /admin/v1/accounts/{id}/members',
      input: { path: { id: accountId }, body: { userId, role: otherRole } },
    });
  const newLink = () =>
    ask({
      label: text.newLink,
      question: text.newLinkQuestion(name),
      endpoint: 'POST /admin/v1/users/{id}/links',
      input: { path: { id: userId } },
      onDone: (link) => onLink({ ...link, name }),
    });
  return (
    <>
      <RowMenu label={text.actionsFor(name)}>
        <Menu.Item onClick={changeRole}>{roleLabel}</Menu.Item>
        <Menu.Item onClick={newLink}>{text.newLink}</Menu.Item>
        <Menu.Item onClick={() => onOpen({ kind: 'limits', member })}>{membersText.changeLimits}</Menu.Item>
        <Menu.Item color="red" onClick={() => onOpen({ kind: 'remove', member })}>
          {membersText.remove}
        </Menu.Item>
      </RowMenu>
      {confirmation}
    </>
  );
}
