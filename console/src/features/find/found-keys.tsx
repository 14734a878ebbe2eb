import { Anchor, Badge, Code, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ask } from '../../api/client.ts';
import type { FoundKey } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { KeyStateBadge } from '../../parts/keys/key-state.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { findTexts } from './texts.ts';
import type { Entered } from './what-was-entered.ts';

interface FoundKeysProps {
  readonly entered: Extract<Entered, { kind: 'key' | 'prefix' }>;
  /** As it stands in the field; a text that is longer than the prefix was cut. */
  readonly whole: string;
}

interface Search {
  readonly keys: readonly FoundKey[] | null;
  readonly hasMore: boolean;
  readonly error: Error | null;
}

const BUSY: Search = { keys: null, hasMore: false, error: null };

/** The keys that were searched for, and whose they are. The key is not kept as what was read is: it is in no cache of the page. */
export function FoundKeys({ entered, whole }: FoundKeysProps) {
  const text = useTexts(findTexts);
  const { keys, hasMore, error } = useSearch(entered);
  if (error !== null) return <ErrorNotice error={error} />;
  if (keys === null) return <Loading />;
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
            idOf={({ id }) => id}
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
          {hasMore && <Text size="sm">{text.more}</Text>}
        </Stack>
      )}
    </Section>
  );
}

function useSearch(entered: FoundKeysProps['entered']): Search {
  const [search, setSearch] = useState(BUSY);
  useEffect(() => {
    const left = new AbortController();
    setSearch(BUSY);
    const body = entered.kind === 'key' ? { key: entered.key } : { prefix: entered.prefix };
    ask('POST /admin/v1/keys/search', { body }, { signal: left.signal }).then(
      ({ data, nextCursor }) => setSearch({ keys: data, hasMore: nextCursor !== null, error: null }),
      (error: Error) => left.signal.aborted || setSearch({ ...BUSY, error }),
    );
    return () => left.abort();
  }, [entered]);
  return search;
}

function KeyStatus({ found: { status, account } }: { readonly found: FoundKey }) {
  const text = useTexts(findTexts);
  return (
    <Group gap={4}>
      <KeyStateBadge state={status} />
      {account.status === 'suspended' && (
        <Badge variant="light" color="red" autoContrast title={account.statusReason ?? undefined}>
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
      <Anchor size="sm" href={hashOf('/operator/calls', { keyId: found.id })}>
        {text.callsOfKey}
      </Anchor>
      <Anchor size="sm" href={hashOf('/operator/changes', { subjectId: found.id })}>
        {text.changesOfKey}
      </Anchor>
    </Stack>
  );
}
