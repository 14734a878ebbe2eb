import { NativeSelect, Text, TextInput } from '@mantine/core';
import type { User } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { changedMembers } from '../../parts/forms/changed-members.ts';
import { textOrNull } from '../../parts/forms/number-text.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';

const ROLES = ['none', 'auditor', 'operator'] as const;
type Role = (typeof ROLES)[number];

interface UserDraft {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

interface UserDialogProps {
  /** `null`: a new one. */
  readonly user: User | null;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onLink: (link: ShownLink) => void;
}

/** Creates a user, whose link is shown once, or changes one. */
export function UserDialog({ user, isOpen, onClose, onLink }: UserDialogProps) {
  const text = useTexts(usersTexts);
  const [draft, set, opened] = useDraft<UserDraft>(
    () => ({
      name: user?.name ?? '',
      email: user?.email ?? '',
      role: user?.operatorRole ?? 'none',
    }),
    isOpen,
  );
  const fields = <UserFields draft={draft} onChange={set} />;
  if (user === null) {
    return (
      <ChangeDialog
        endpoint="POST /admin/v1/users"
        title={text.create}
        submitLabel={text.create}
        isOpen={isOpen}
        onClose={onClose}
        input={() => ({ body: bodyOf(draft) })}
        onDone={onLink}
      >
        <Text size="sm">{text.createHint}</Text>
        {fields}
      </ChangeDialog>
    );
  }
  const change = () => {
    const body = changedMembers(bodyOf(opened), bodyOf(draft));
    return Object.keys(body).length === 0 ? null : { path: { id: user.id }, body };
  };
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/users/{id}"
      title={text.editOf(user.name)}
      submitLabel={text.save}
      isOpen={isOpen}
      onClose={onClose}
      input={change}
    >
      {fields}
    </ChangeDialog>
  );
}

function bodyOf({ name, email, role }: UserDraft) {
  return { name, email: textOrNull(email), operatorRole: role === 'none' ? null : role };
}

interface UserFieldsProps {
  readonly draft: UserDraft;
  readonly onChange: (change: Partial<UserDraft>) => void;
}

function UserFields({ draft, onChange }: UserFieldsProps) {
  const text = useTexts(usersTexts);
  return (
    <>
      <TextInput
        label={text.name}
        required
        data-autofocus
        maxLength={200}
        value={draft.name}
        onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      <TextInput
        label={text.email}
        description={text.emailHint}
        type="email"
        value={draft.email}
        onChange={({ currentTarget }) => onChange({ email: currentTarget.value })}
      />
      <NativeSelect
        label={text.role}
        description={text.roleHint}
        value={draft.role}
        onChange={({ currentTarget }) => onChange({ role: currentTarget.value as Role })}
        data={ROLES.map((value) => ({ value, label: text.roles[value] }))}
      />
    </>
  );
}
