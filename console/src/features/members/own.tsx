import { Anchor, Menu, Text } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { Member } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { goTo, hashOf } from '../../parts/location.ts';
import { useOwnModelNames } from '../../parts/model-names.ts';
import { Page } from '../../parts/page.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { Invitations, InviteButton } from './invitations.tsx';
import { useMemberColumns } from './member-columns.tsx';
import { MemberLimitsDialog, RemoveMemberDialog } from './member-dialogs.tsx';
import { membersTexts } from './texts.ts';

type Dialog = { readonly kind: 'role' | 'limits' | 'remove'; readonly member: Member };

export function MembersPage() {
  const text = useTexts(membersTexts);
  const { user } = useSession();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const list = useList('GET /account/v1/members', {});
  const columns = useMemberColumns(({ userId, name }) => (
    <Text size="sm" fw={600}>
      {userId === user.id ? text.noted(name, text.you) : name}
    </Text>
  ));
  return (
    <Page lead={text.lead} actions={<InviteButton />}>
      <Section title={text.people}>
        <ListTable
          label={text.people}
          list={list}
          idOf={({ userId }) => userId}
          columns={columns}
          actions={(member) => <MemberMenu member={member} onOpen={setDialog} />}
        />
      </Section>
      <Invitations />
      {dialog?.kind === 'role' && <RoleDialog member={dialog.member} onClose={() => setDialog(null)} />}
      {dialog?.kind === 'limits' && <LimitsDialog member={dialog.member} onClose={() => setDialog(null)} />}
      {dialog?.kind === 'remove' && (
        <RemoveDialog
          member={dialog.member}
          others={list.items.filter(({ userId }) => userId !== dialog.member.userId)}
          onClose={() => setDialog(null)}
        />
      )}
    </Page>
  );
}

interface MemberMenuProps {
  readonly member: Member;
  readonly onOpen: (dialog: Dialog) => void;
}

function MemberMenu({ member, onOpen }: MemberMenuProps) {
  const text = useTexts(membersTexts);
  return (
    <RowMenu label={text.actionsFor(member.name)}>
      <Menu.Item onClick={() => goTo(keysOf(member))}>{text.showKeys}</Menu.Item>
      <Menu.Item onClick={() => onOpen({ kind: 'role', member })}>
        {member.role === 'owner' ? text.makeMember : text.makeOwner}
      </Menu.Item>
      <Menu.Item onClick={() => onOpen({ kind: 'limits', member })}>{text.changeLimits}</Menu.Item>
      <Menu.Item color="red" onClick={() => onOpen({ kind: 'remove', member })}>
        {text.remove}
      </Menu.Item>
    </RowMenu>
  );
}

interface MemberDialogProps {
  readonly member: Member;
  readonly onClose: () => void;
}

function RoleDialog({ member, onClose }: MemberDialogProps) {
  const text = useTexts(membersTexts);
  const { user } = useSession();
  const becomesOwner = member.role === 'member';
  const role: Member['role'] = becomesOwner ? 'owner' : 'member';
  const label = becomesOwner ? text.makeOwner : text.makeMember;
  const consequence = member.userId === user.id ? text.makeYourselfMember : text.makeMemberQuestion(member.name);
  return (
    <ChangeDialog
      endpoint="PATCH /account/v1/members/{id}"
      title={label}
      isOpen
      onClose={onClose}
      input={() => ({ path: { id: member.userId }, body: { role } })}
      doneText={text.roleChanged}
    >
      <Text>{becomesOwner ? text.makeOwnerQuestion(member.name) : consequence}</Text>
    </ChangeDialog>
  );
}

function RemoveDialog({ member, others, onClose }: MemberDialogProps & { readonly others: readonly Member[] }) {
  const text = useTexts(membersTexts);
  const { user } = useSession();
  return (
    <RemoveMemberDialog member={member} accountId={null} others={others} onClose={onClose}>
      <Text>{member.userId === user.id ? text.removeYourself : text.removeQuestion(member.name)}</Text>
      <Anchor href={keysOf(member)}>{text.keysOf(member.name)}</Anchor>
    </RemoveMemberDialog>
  );
}

function LimitsDialog({ member, onClose }: MemberDialogProps) {
  return <MemberLimitsDialog member={member} accountId={null} models={useOwnModelNames()} onClose={onClose} />;
}

function keysOf({ userId }: Member): string {
  return hashOf('/keys', { userId });
}
