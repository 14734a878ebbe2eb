import { Select, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useList } from '../../api/queries.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import type { ShownLink } from '../../parts/one-time-link.tsx';
import { useTexts } from '../../text/language.tsx';
import { peopleTexts } from './operator-texts.ts';
import { type Role, RoleSelect } from './role-select.tsx';
import { membersTexts } from './texts.ts';

interface DialogProps {
  readonly accountId: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Makes a user in the account, with a link by which the person chooses a password. */
export function InviteDialog({
  accountId,
  isOpen,
  onClose,
  onLink,
}: DialogProps & { readonly onLink: (link: ShownLink) => void }) {
  const text = useTexts(peopleTexts);
  const membersText = useTexts(membersTexts);
  const [{ name, email, role }, set] = useDraft(() => ({ name: '', email: '', role: 'owner' as Role }), isOpen);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/users"
      title={text.invite}
      submitLabel={text.invite}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({
        body: { name, email: email === '' ? null : email, memberships: [{ accountId, role }] },
      })}
      onDone={onLink}
    >
      <Text size="sm">{text.inviteHint}</Text>
      <TextInput
        label={membersText.name}
        required
        data-autofocus
        maxLength={200}
        value={name}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <TextInput
        label={membersText.email}
        description={text.emailHint}
        type="email"
        value={email}
        onChange={({ currentTarget }) => set({ email: currentTarget.value })}
      />
      <RoleSelect role={role} onChange={(entered) => set({ role: entered })} />
    </ChangeDialog>
  );
}

/** How long after the last letter a search is sent. */
const SEARCH_DELAY_MS = 300;

interface MemberDraft {
  readonly chosen: { readonly value: string; readonly label: string } | null;
  /** What stands in the field. */
  readonly typed: string;
  readonly role: Role;
}

const nobodyYet = (): MemberDraft => ({ chosen: null, typed: '', role: 'member' });

export function AddMemberDialog({ accountId, isOpen, onClose }: DialogProps) {
  const text = useTexts(peopleTexts);
  const [{ chosen, typed, role }, set] = useDraft(nobodyYet, isOpen);
  // The name of who was chosen stands in the field, and is no search.
  const [search] = useDebouncedValue(typed === chosen?.label ? '' : typed, SEARCH_DELAY_MS);
  const found = useList(
    'GET /admin/v1/users',
    { query: search === '' ? { limit: 20 } : { search, limit: 20 } },
    { isWanted: isOpen },
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
      submitLabel={text.add}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({ path: { id: accountId }, body: { userId: chosen?.value ?? '', role } })}
    >
      <Text size="sm">{text.addHint}</Text>
      <Select
        label={text.user}
        description={text.userHint}
        required
        data-autofocus
        searchable
        // The gateway has searched already.
        filter={({ options }) => options}
        searchValue={typed}
        onSearchChange={(entered) => set({ typed: entered })}
        value={chosen?.value ?? null}
        onChange={(_, option) => set({ chosen: option, typed: option?.label ?? '' })}
        nothingFoundMessage={text.noUser}
        data={chosen === null ? others : [chosen, ...others]}
      />
      <RoleSelect role={role} onChange={(entered) => set({ role: entered })} />
    </ChangeDialog>
  );
}
