import { Anchor, Badge, Code, Group, Stack, Text } from '@mantine/core';
import type { FoundKey } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { KeyStateBadge } from '../../parts/keys/key-state.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { findTexts } from './texts.ts';
import { useSecretSearch } from './use-secret-search.ts';
import type { Entered } from './what-was-entered.ts';

interface FoundKeysProps {
  readonly entered: Extract<Entered, { kind: 'key' | 'prefix' | 'key_id' }>;
  /** The text as entered, possibly longer than the prefix. */
  readonly whole: string;
}

export function FoundKeys({ entered, whole }: FoundKeysProps) {
  const text = useTexts(findTexts);
  const { found, error } = useSecretSearch('POST /admin/v1/keys/search', bodyOf(entered));
  if (error !== null) return <ErrorNotice error={error} />;
  if (found === null) return <Loading />;
  const { data: keys, nextCursor } = found;
  const isCut = entered.kind === 'prefix' && whole.replace(/…$/, '').length > entered.prefix.length;
  return (
    <Section title={text.keys} lead={isCut && entered.kind === 'prefix' ? text.cutHint(entered.prefix) : undefined}>
      {keys.length === 0 ? (
        <EmptyState title={text.noKey} hint={text.noKeyHint} />
      ) : (
        <Stack gap="sm">
          <DataTable
            label={text.keys}
            items={keys}
            columns={[
              { header: text.key, cell: ({ prefix, id }) => <Code title={id}>{prefix}</Code> },
              { header: text.name, cell: ({ name }) => name ?? '–' },
              {
                header: text.account,
                cell: ({ account }) => <AccountLink accountId={account.id} name={account.name} />,
              },
              { header: text.status, cell: (key) => <KeyStatus found={key} /> },
              { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} /> },
              { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
              { header: text.show, cell: (key) => <Links found={key} /> },
            ]}
          />
          {nextCursor !== null && <Text size="sm">{text.more}</Text>}
        </Stack>
      )}
    </Section>
  );
}

function bodyOf(entered: FoundKeysProps['entered']) {
  switch (entered.kind) {
    case 'key':
      return { key: entered.key };
    case 'prefix':
      return { prefix: entered.prefix };
    case 'key_id':
      return { id: entered.id };
  }
}

function KeyStatus({ found: { status, account } }: { readonly found: FoundKey }) {
  const text = useTexts(findTexts);
  return (
    <Group gap={4}>
      <KeyStateBadge state={status} />
      {account.status === 'suspended' && (
        <Badge color="red" title={account.statusReason ?? undefined}>
          {text.suspendedAccount}
        </Badge>
      )}
    </Group>
  );
}

function Links({ found }: { readonly found: FoundKey }) {
  const text = useTexts(findTexts);
  return (
    <Stack gap={0}>
      <Anchor size="sm" py={3} href={hashOf('/operator/calls', { accountId: found.account.id, keyId: found.id })}>
        {text.callsOfKey}
      </Anchor>
      <Anchor size="sm" py={3} href={hashOf('/operator/changes', { subjectId: found.id })}>
        {text.changesOfKey}
      </Anchor>
    </Stack>
  );
}
