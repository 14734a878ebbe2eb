import { NativeSelect, Text, TextInput } from '@mantine/core';
import type { User } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { changeById, changedMembers } from '../../parts/forms/changed-members.ts';
import { textOrNull } from '../../parts/forms/number-text.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';

const ROLES = ['none', 'auditor', 'operator'] as const;
type Role = (typeof ROLES)[number];

interface UserDialogProps extends DialogProps {
  /** `null` to create a user. */
  readonly user: User | null;
  readonly onLink: (link: ShownLink) => void;
}

/** Creates a user and shows the one-time link, or edits a user. */
export function UserDialog({ user, onLink, ...dialog }: UserDialogProps) {
  const text = useTexts(usersTexts);
  const [draft, field, , opened] = useDraft(
    () => ({ name: user?.name ?? '', email: user?.email ?? '', role: user?.operatorRole ?? ('none' as Role) }),
    dialog.isOpen,
  );
  const bodyOf = ({ name, email, role }: typeof draft) => {
    return { name, email: textOrNull(email), operatorRole: role === 'none' ? null : role };
  };
  const fields = (
    <>
      <TextInput label={text.name} required data-autofocus maxLength={200} {...field('name')} />
      <TextInput label={text.email} description={text.emailHint} type="email" {...field('email')} />
      <NativeSelect
        label={text.role}
        description={text.roleHint}
        data={ROLES.map((value) => ({ value, label: text.roles[value] }))}
        {...field('role')}
      />
    </>
  );
  if (user === null) {
    return (
      <ChangeDialog
        endpoint="POST /admin/v1/users"
        title={text.create}
        {...dialog}
        input={() => ({ body: bodyOf(draft) })}
        onDone={onLink}
      >
        <Text size="sm">{text.createHint}</Text>
        {fields}
      </ChangeDialog>
    );
  }
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/users/{id}"
      title={text.editOf(user.name)}
      submitLabel={text.save}
      {...dialog}
      input={() => changeById(user.id, changedMembers(bodyOf(opened), bodyOf(draft)))}
    >
      {fields}
    </ChangeDialog>
  );
}
