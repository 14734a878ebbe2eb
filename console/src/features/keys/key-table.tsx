import { ActionIcon, Badge, Code, Group, Menu, Text } from '@mantine/core';
import { KebabHorizontalIcon } from '@primer/octicons-react';
import type { OwnKey } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { LimitsInShort } from '../../parts/limits/limits-in-short.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { goTo, hashOf } from '../../parts/location.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import type { People } from './people.ts';
import { keysTexts } from './texts.ts';

/** What can be done with a key of the list. */
export interface KeyActions {
  readonly mayChangeLimits: boolean;
  readonly onChangeLimits: (key: OwnKey) => void;
  readonly onReplace: (key: OwnKey) => void;
  readonly onRevoke: (key: OwnKey) => void;
}

export function useKeyColumns(people: People | null, actions: KeyActions): readonly Column<OwnKey>[] {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const { user } = useSession();
  const nowMs = useNowMs();
  const owners: readonly Column<OwnKey>[] =
    people === null
      ? []
      : [
          {
            header: text.owner,
            cell: ({ userId }) =>
              userId === null
                ? text.ofAccount
                : userId === user.id
                  ? text.you
                  : (people.get(userId) ?? text.formerMember),
          },
        ];
  return [
    {
      header: text.name,
      cell: (key) => (
        <div>
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            {key.name ?? text.unnamed}
          </Text>
          <Code style={{ whiteSpace: 'nowrap' }}>{key.prefix}</Code>
        </div>
      ),
    },
    { header: text.state, cell: (key) => <StateBadge state={stateOf(key, nowMs)} /> },
    ...owners,
    { header: text.scopes, cell: ({ scopes }) => scopes.map((scope) => text.scopeNames[scope]).join(text.between) },
    { header: text.limitColumn, cell: (key) => <LimitsInShort limits={key} /> },
    {
      header: text.expires,
      cell: ({ expiresAt }) => (expiresAt === null ? text.expiresNever : <Instant at={expiresAt} isRelative />),
    },
    { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
    { header: common.actions, cell: (key) => <KeyMenu apiKey={key} actions={actions} /> },
  ];
}

type KeyState = 'active' | 'expired' | 'revoked';

function stateOf({ revokedAt, expiresAt }: OwnKey, nowMs: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active';
}

const COLORS: Readonly<Record<KeyState, string>> = { active: 'teal', expired: 'yellow', revoked: 'gray' };

function StateBadge({ state }: { readonly state: KeyState }) {
  const text = useTexts(keysTexts);
  return (
    <Badge variant="light" color={COLORS[state]} autoContrast>
      {text.states[state]}
    </Badge>
  );
}

function KeyMenu({ apiKey, actions }: { readonly apiKey: OwnKey; readonly actions: KeyActions }) {
  const text = useTexts(keysTexts);
  const isActive = stateOf(apiKey, useNowMs()) === 'active';
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={text.actionsFor(apiKey.name ?? apiKey.prefix)}>
            <KebabHorizontalIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => goTo(hashOf('/calls', { keyId: apiKey.id }))}>{text.showCalls}</Menu.Item>
          <Menu.Item onClick={() => goTo(hashOf('/usage', { keyId: apiKey.id }))}>{text.showUsage}</Menu.Item>
          {isActive && (
            <>
              <Menu.Divider />
              {actions.mayChangeLimits && (
                <Menu.Item onClick={() => actions.onChangeLimits(apiKey)}>{text.changeLimits}</Menu.Item>
              )}
              <Menu.Item onClick={() => actions.onReplace(apiKey)}>{text.replace}</Menu.Item>
              <Menu.Item color="red" onClick={() => actions.onRevoke(apiKey)}>
                {text.revoke}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
