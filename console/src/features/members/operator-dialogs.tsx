import { Select, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useList } from '../../api/queries.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { useTexts } from '../../text/language.tsx';
import { peopleTexts } from './operator-texts.ts';
import { type Role, RoleSelect } from './role-select.tsx';
import { membersTexts } from './texts.ts';

interface OfAccountProps extends DialogProps {
  readonly accountId: string;
}

/** Creates a user in the account, with a one-time link to set a password. */
export function InviteDialog(props: OfAccountProps & { readonly onLink: (link: ShownLink) => void }) {
  const { accountId, onLink, ...dialog } = props;
  const text = useTexts(peopleTexts);
  const membersText = useTexts(membersTexts);
  const [{ name, email, role }, field] = useDraft(
    () => ({ name: '', email: '', role: 'owner' as Role }),
    dialog.isOpen,
  );
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/users"
      title={text.invite}
      {...dialog}
      input={() => ({
        body: { name, email: email === '' ? null : email, memberships: [{ accountId, role }] },
      })}
      onDone={onLink}
    >
      <Text size="sm">{text.inviteHint}</Text>
      <TextInput label={membersText.name} required data-autofocus maxLength={200} {...field('name')} />
      <TextInput label={membersText.email} description={text.emailHint} type="email" {...field('email')} />
      <RoleSelect {...field('role')} />
    </ChangeDialog>
  );
}

const SEARCH_DELAY_MS = 300;

interface MemberDraft {
  readonly chosen: { readonly value: string; readonly label: string } | null;
  readonly typed: string;
  readonly role: Role;
}

const nobodyYet = (): MemberDraft => ({ chosen: null, typed: '', role: 'member' });

export function AddMemberDialog({ accountId, ...dialog }: OfAccountProps) {
  const text = useTexts(peopleTexts);
  const [{ chosen, typed, role }, field, set] = useDraft(nobodyYet, dialog.isOpen);
  // The label of the selected user is not a search.
  const [search] = useDebouncedValue(typed === chosen?.label ? '' : typed, SEARCH_DELAY_MS);
  const found = useList(
    'GET /admin/v1/users',
    { query: search === '' ? { limit: 20 } : { search, limit: 20 } },
    { isWanted: dialog.isOpen },
  );
  const matches = found.items.map(({ id, name, email }) => ({
    value: id,
    label: email === null ? name : `${name} (${email})`,
  }));
  const others = matches.filter(({ value }) => value !== chosen?.value);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/accounts/{id}/members"
      title={text.add}
      {...dialog}
      input={() => ({ path: { id: accountId }, body: { userId: chosen?.value ?? '', role } })}
    >
      <Text size="sm">{text.addHint}</Text>
      <Select
        label={text.user}
        description={text.userHint}
        required
        data-autofocus
        searchable
        // The gateway has filtered the options.
        filter={({ options }) => options}
        searchValue={typed}
        onSearchChange={(entered) => set({ typed: entered })}
        value={chosen?.value ?? null}
        onChange={(_, option) => set({ chosen: option, typed: option?.label ?? '' })}
        nothingFoundMessage={text.noUser}
        data={chosen === null ? others : [chosen, ...others]}
      />
      <RoleSelect {...field('role')} />
    </ChangeDialog>
  );
}
