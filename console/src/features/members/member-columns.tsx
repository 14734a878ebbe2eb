import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Member } from '../../api/types.ts';
import { StatusWord } from '../../parts/account-status.tsx';
import { Instant } from '../../parts/figures.tsx';
import { LimitsInShort, OF_KEYS_ALONE } from '../../parts/limits/limits-in-short.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';
import { membersTexts } from './texts.ts';

export function useMemberColumns(nameOf: (member: Member) => ReactNode): Column<Member>[] {
  const text = useTexts(membersTexts);
  return [
    {
      header: text.name,
      cell: (member) => (
        <Group gap="xs" display="inline-flex">
          {nameOf(member)}
          {member.status === 'suspended' && <StatusWord status="suspended" />}
        </Group>
      ),
    },
    { header: text.email, cell: ({ email }) => email ?? '–' },
    { header: text.role, cell: ({ role }) => text[role] },
    { header: text.limits, cell: (member) => <LimitsInShort limits={{ ...OF_KEYS_ALONE, ...member }} /> },
    { header: text.since, cell: ({ since }) => <Instant at={since} isRelative /> },
    { header: text.lastSignIn, cell: ({ lastSignInAt }) => <Instant at={lastSignInAt} isRelative /> },
  ];
}
