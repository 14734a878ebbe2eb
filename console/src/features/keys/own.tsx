import { Group, NativeSelect, SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import { useAccountChoice } from '../../api/account-choice.ts';
import { useList } from '../../api/queries.ts';
import type { OwnKey } from '../../api/types.ts';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { CreateKeyButton } from './create-key-dialog.tsx';
import { LimitsDialog, ReplaceDialog, RevokeDialog } from './key-dialogs.tsx';
import { useKeyColumns } from './key-table.tsx';
import { type People, usePeople } from './people.ts';
import { keysTexts } from './texts.ts';

const STATES = ['active', 'expired', 'revoked'] as const;
const DIALOGS = { limits: LimitsDialog, replace: ReplaceDialog, revoke: RevokeDialog } as const;

/** The keys of the account; for members their own. */
export function KeysPage() {
  const text = useTexts(keysTexts);
  const [query, setQuery] = usePlaceQuery();
  const isOwner = useAccountChoice().role === 'owner';
  const people = usePeople();
  const [dialog, setDialog] = useState<{ readonly kind: keyof typeof DIALOGS; readonly key: OwnKey } | null>(null);
  const status = query.state === 'all' ? undefined : (STATES.find((state) => state === query.state) ?? 'active');
  const userId = isOwner ? query.userId : undefined;
  const list = useList('GET /account/v1/keys', { query: { status, userId } }, { isLive: true });
  const columns = useKeyColumns(people, {
    mayChangeLimits: isOwner,
    onChangeLimits: (key) => setDialog({ kind: 'limits', key }),
    onReplace: (key) => setDialog({ kind: 'replace', key }),
    onRevoke: (key) => setDialog({ kind: 'revoke', key }),
  });
  const isFiltered = query.state !== undefined || userId !== undefined;
  const Dialog = dialog === null ? null : DIALOGS[dialog.kind];
  return (
    <Page title={text.title} lead={text.lead} actions={<CreateKeyButton people={people} />}>
      <Section>
        <Stack>
          <Group gap="sm" align="flex-end">
            <SegmentedControl
              aria-label={text.filterState}
              value={status ?? 'all'}
              onChange={(state) => setQuery({ state: state === 'active' ? null : state })}
              data={[
                ...STATES.map((value) => ({ value, label: text.states[value] })),
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
            columns={columns}
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
      {dialog !== null && Dialog !== null && <Dialog apiKey={dialog.key} onClose={() => setDialog(null)} />}
    </Page>
  );
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
