import { Anchor, Box, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { User } from '../../api/types.ts';
import { StatusWord } from '../../parts/account-status.tsx';
import { Instant } from '../../parts/figures.tsx';
import { FilterText } from '../../parts/filters.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { hashOf, usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { OneTimeLinkNotice, type ShownLink } from '../../parts/one-time-link.tsx';
import { Section } from '../../parts/section.tsx';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { usersTexts } from './texts.ts';
import { UserActions } from './user-actions.tsx';
import { UserDialog } from './user-dialogs.tsx';

export function UsersTab() {
  const text = useTexts(usersTexts);
  const mayOperate = useMayOperate();
  const [{ search = '', operators }, setQuery] = usePlaceQuery();
  const [open, newUser] = usePlaceDialog('new');
  const [link, setLink] = useState<ShownLink | null>(null);
  const query = search !== '' ? { search } : operators === 'true' ? { operators: 'true' as const } : {};
  const list = useList('GET /admin/v1/users', { query });
  const columns: Column<User>[] = [
    { header: text.name, cell: ({ id, name, email }) => <TwoLines first={name} second={email ?? id} isName /> },
    { header: text.role, cell: ({ operatorRole }) => (operatorRole === null ? '–' : text.roles[operatorRole]) },
    {
      header: text.status,
      cell: ({ status, hasPassword, unconfirmedTokenId }) => (
        <>
          <StatusWord status={status} />
          {!hasPassword && <Text size="xs">{text.noPassword}</Text>}
          {unconfirmedTokenId !== null && <Text size="xs">{text.unconfirmed}</Text>}
        </>
      ),
    },
    {
      header: text.accounts,
      cell: ({ memberships }) =>
        memberships.length === 0
          ? '–'
          : memberships.map(({ accountId, accountName, role }) => (
              <div key={accountId}>
                <Anchor
                  size="sm"
                  underline="always"
                  href={hashOf(`/operator/accounts/${accountId}`, { tab: 'people' })}
                >
                  {accountName}
                </Anchor>{' '}
                {text.noted('', text[role])}
              </div>
            )),
    },
    { header: text.lastSignIn, cell: ({ lastSignInAt }) => <Instant at={lastSignInAt} isRelative /> },
  ];
  return (
    <Section title={text.users} actions={mayOperate && <Button onClick={open}>{text.create}</Button>}>
      <Stack>
        <Group align="flex-end">
          <Box flex="1 1 260px" maw={360}>
            <FilterText
              label={text.search}
              placeholder={text.searchHint}
              name="search"
              onChange={(entered) => setQuery({ search: entered, operators: null })}
            />
          </Box>
          <Switch
            label={text.operatorsOnly}
            checked={search === '' && operators === 'true'}
            onChange={({ currentTarget }) =>
              setQuery({ operators: currentTarget.checked ? 'true' : null, search: null })
            }
            mb={8}
          />
        </Group>
        <OneTimeLinkNotice link={link} onClose={() => setLink(null)} />
        <ListTable
          label={text.users}
          list={list}
          isInPlace
          columns={columns}
          actions={mayOperate && ((user: User) => <UserActions user={user} onLink={setLink} />)}
          empty={
            search === '' ? (
              <EmptyState title={text.none} hint={text.noneHint} />
            ) : (
              <EmptyState title={text.noUser} hint={text.noMatchHint} />
            )
          }
        />
      </Stack>
      {mayOperate && <UserDialog user={null} {...newUser} onLink={setLink} />}
    </Section>
  );
}
