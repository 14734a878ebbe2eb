import { Button, Group, NativeSelect, SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import { useAccountChoice } from '../../api/account-choice.ts';
import { useList, useRead } from '../../api/queries.ts';
import type { Key, MemberLimits } from '../../api/types.ts';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { KEY_STATES, keyStateTexts } from '../../parts/keys/key-state.tsx';
import { LimitsInShort, OF_KEYS_ALONE } from '../../parts/limits/limits-in-short.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { hashOf, usePlaceQuery } from '../../parts/location.ts';
import { useOwnModelNames } from '../../parts/model-names.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { type People, usePeople } from '../../parts/people.ts';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { KeyDialogs, type KeyEndpoints, type OpenKeyDialog } from './key-dialogs.tsx';
import { KeyMenu } from './key-menu.tsx';
import { useKeyColumns } from './key-table.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { keysTexts } from './texts.ts';

const ENDPOINTS: KeyEndpoints = {
  change: 'PATCH /account/v1/keys/{id}',
  replace: 'POST /account/v1/keys/{id}/replacement',
  revoke: 'DELETE /account/v1/keys/{id}',
};

/** Keys of the account; for members, their own. */
export function KeysPage() {
  const text = useTexts(keysTexts);
  const states = useTexts(keyStateTexts);
  const [query, setQuery] = usePlaceQuery();
  const { role } = useAccountChoice();
  const isOwner = role === 'owner';
  const people = usePeople();
  const models = useOwnModelNames();
  const [open, newKey] = usePlaceDialog('new');
  const [dialog, setDialog] = useState<OpenKeyDialog | null>(null);
  const status = query.state === 'all' ? undefined : (KEY_STATES.find((state) => state === query.state) ?? 'active');
  const userId = isOwner ? query.userId : undefined;
  const list = useList('GET /account/v1/keys', { query: { status, userId } }, { isLive: true });
  const isFiltered = query.state !== undefined || userId !== undefined;
  return (
    <Page lead={text.lead} actions={<Button onClick={open}>{text.create}</Button>}>
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
            label={text.apiKeys}
            list={list}
            columns={useKeyColumns(useOwnerColumns(people))}
            actions={(key) => (
              <KeyMenu
                apiKey={key}
                calls={hashOf('/calls', { keyId: key.id })}
                usage={hashOf('/usage', { keyId: key.id })}
                mayChangeLimits={isOwner}
                onOpen={setDialog}
              />
            )}
            isInPlace
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
      <OwnLimits />
      <NewKeyDialog
        endpoint="POST /account/v1/keys"
        title={text.create}
        models={models}
        people={people}
        isShort
        {...newKey}
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

/** Limits of the signed-in member across all keys, if there are any. */
function OwnLimits() {
  const text = useTexts(keysTexts);
  const { data } = useRead('GET /account/v1/member-limits', {});
  if (data === undefined || !isLimited(data)) return null;
  return (
    <Section title={text.ownLimits} lead={text.ownLimitsLead}>
      <LimitsInShort limits={{ ...OF_KEYS_ALONE, ...data }} />
    </Section>
  );
}

const isLimited = ({ used: _used, usedByModel: _usedByModel, modelBudgets, ...limits }: MemberLimits): boolean =>
  Object.keys(modelBudgets).length > 0 || Object.values(limits).some((limit) => limit !== null);

/** The owner of each key, for users who see keys of others. */
function useOwnerColumns(people: People | null): Column<Key>[] {
  const text = useTexts(keysTexts);
  const { user } = useSession();
  if (people === null) return [];
  const nameOf = (userId: string, former: string | null): string =>
    userId === user.id ? text.you : (people.get(userId) ?? former ?? text.formerMember);
  return [
    {
      header: text.owner,
      cell: ({ userId, formerUserName }) => (
        <div>
          <div>{userId === null ? text.ofAccount : nameOf(userId, formerUserName)}</div>
          {formerUserName !== null && <SmallText>{text.wasOf(formerUserName)}</SmallText>}
        </div>
      ),
    },
  ];
}

interface OwnerFilterProps {
  readonly people: People;
  /** A user id; empty for all users. */
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
        ...[...people].map(([id, name]) => ({ value: id, label: id === user.id ? text.noted(name, text.you) : name })),
        ...(isFormer ? [{ value, label: text.formerMember }] : []),
      ]}
    />
  );
}
