import { Code, Text } from '@mantine/core';
import type { Key } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { KeyStateBadge, keyStateOf } from '../../parts/keys/key-state.tsx';
import { LimitsInShort } from '../../parts/limits/limits-in-short.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';
import { keysTexts } from './texts.ts';

/** Columns of key lists: name and state, then `more`. */
export function useKeyColumns(more: readonly Column<Key>[]): Column<Key>[] {
  const text = useTexts(keysTexts);
  const nowMs = useNowMs();
  return [
    {
      header: text.name,
      cell: ({ name, prefix }) => (
        <div>
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            {name ?? text.unnamed}
          </Text>
          <Code style={{ whiteSpace: 'nowrap' }}>{prefix}</Code>
        </div>
      ),
    },
    { header: text.state, cell: (key) => <KeyStateBadge state={keyStateOf(key, nowMs)} /> },
    ...more,
    { header: text.scopes, cell: ({ scopes }) => scopes.map((scope) => text.scopeNames[scope]).join(text.comma) },
    { header: text.limitColumn, cell: (key) => <LimitsInShort limits={key} /> },
    {
      header: text.expires,
      cell: ({ expiresAt }) => (expiresAt === null ? text.expiresNever : <Instant at={expiresAt} isRelative />),
    },
    { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
  ];
}
