import { Button, Group, NativeSelect, SegmentedControl, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { useAccountChoice } from '../../api/account-choice.ts';
import { useList } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { KEY_STATES, useKeyStateTexts } from '../../parts/keys/key-state.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { type People, usePeople } from '../../parts/people.ts';
import { Section } from '../../parts/section.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { KeyDialogs, type KeyEndpoints, type OpenKeyDialog } from './key-dialogs.tsx';
import { KeyMenu } from './key-menu.tsx';
import { useKeyColumns } from './key-table.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { useOwnModelNames } from './own-model-names.ts';
import { keysTexts } from './texts.ts';

const ENDPOINTS: KeyEndpoints = {
  change: 'PATCH /account/v1/keys/{id}',
  replace: 'POST /account/v1/keys/{id}/replacement',
  revoke: 'DELETE /account/v1/keys/{id}',
};

/** The keys of the account; for members their own. */
export function KeysPage() {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const states = useKeyStateTexts();
  const [query, setQuery] = usePlaceQuery();
  const { role } = useAccountChoice();
  const isOwner = role === 'owner';
  const people = usePeople();
  const models = useOwnModelNames();
  const [isCreating, { open, close }] = useDisclosure(false);
  const [dialog, setDialog] = useState<OpenKeyDialog | null>(null);
  const status = query.state === 'all' ? undefined : (KEY_STATES.find((state) => state === query.state) ?? 'active');
  const userId = isOwner ? query.userId : undefined;
  const list = useList('GET /account/v1/keys', { query: { status, userId } }, { isLive: true });
  const columns = useKeyColumns(useOwnerColumns(people));
  const actions: Column<Key> = {
    header: common.actions,
    cell: (key) => <KeyMenu apiKey={key} mayChangeLimits={isOwner} onOpen={setDialog} />,
  };
  const isFiltered = query.state !== undefined || userId !== undefined;
  return (
    <Page title={text.title} lead={text.lead} actions={<Button onClick={open}>{text.create}</Button>}>
      <Section>
        <Stack>
          <Group gap="sm" align="flex-end">
            <SegmentedControl
              aria-label={text.filterState}
              value={status ?? 'all'}
              onChange={(state) => setQuery({ state: state === 'active' ? null : state })}
              data={[
                ...KEY_STATES.map((value) => ({ value, label: states[value] })),
                { value: 'all', label: text.allStates },
              ]}
            />
            {people !== null && (
              <OwnerFilter people={people} value={userId ?? ''} onChange={(chosen) => setQuery({ userId: chosen })} />
            )}
          </Group>
          <ListTable
            label={text.title}
            list={list}
            idOf={({ id }) => id}
            columns={[...columns, actions]}
            empty={
              isFiltered ? (
                <EmptyState title={text.noneFiltered} hint={text.noneFilteredHint} />
              ) : (
                <EmptyState title={text.noKeys} hint={text.noKeysHint} />
              )
            }
          />
        </Stack>
      </Section>
      <NewKeyDialog
        endpoint="POST /account/v1/keys"
        title={text.create}
        models={models}
        people={people}
        isShort
        isOpen={isCreating}
        onClose={close}
      />
      <KeyDialogs
        endpoints={ENDPOINTS}
        dialog={dialog}
        onClose={() => setDialog(null)}
        models={models}
        limitsLabel={text.changeLimits}
        {...(role === 'member' ? { replaceHint: text.memberEnd } : {})}
      />
    </Page>
  );
}

/** Whose a key is, for those who see keys of others. */
function useOwnerColumns(people: People | null): Column<Key>[] {
  const text = useTexts(keysTexts);
  const { user } = useSession();
  if (people === null) return [];
  const nameOf = (userId: string): string =>
    userId === user.id ? text.you : (people.get(userId) ?? text.formerMember);
  return [{ header: text.owner, cell: ({ userId }) => (userId === null ? text.ofAccount : nameOf(userId)) }];
}

interface OwnerFilterProps {
  readonly people: People;
  /** The id of a person; empty: of everybody. */
  readonly value: string;
  readonly onChange: (userId: string) => void;
}

function OwnerFilter({ people, value, onChange }: OwnerFilterProps) {
  const text = useTexts(keysTexts);
  const { user } = useSession();
  const isFormer = value !== '' && !people.has(value);
  return (
    <NativeSelect
      aria-label={text.filterOwner}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: text.everybody },
        ...[...people].map(([id, name]) => ({ value: id, label: id === user.id ? `${name} (${text.you})` : name })),
        ...(isFormer ? [{ value, label: text.formerMember }] : []),
      ]}
    />
  );
}
