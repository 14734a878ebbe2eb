import { Badge, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { useChange, useList } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { ConfirmButton } from '../../parts/forms/dialogs.tsx';
import { LimitsInShort } from '../../parts/limits/limits-in-short.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Section } from '../../parts/section.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { keyStatusOf } from './key-status.ts';
import { KeyLimitsDialog, NewKeyDialog, nameOf, ReplaceKeyDialog } from './operator-key-dialogs.tsx';
import { keysTexts } from './operator-texts.ts';

const STATUS_COLORS = { active: 'teal', revoked: 'red', expired: 'yellow' } as const;

/** The keys of an account. */
export function KeysTab({ accountId }: { readonly accountId: string }) {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const nowMs = useNowMs();
  const mayOperate = useMayOperate();
  const [isCreating, { open, close }] = useDisclosure(false);
  const [limited, setLimited] = useState<Key | null>(null);
  const [replaced, setReplaced] = useState<Key | null>(null);
  const [created, setCreated] = useState<string | null>(null);
  const { mutateAsync: revoke } = useChange('DELETE /admin/v1/keys/{id}');
  const list = useList('GET /admin/v1/accounts/{id}/keys', { path: { id: accountId } });
  const columns: Column<Key>[] = [
    {
      header: text.name,
      cell: (key) => (
        <>
          <Text size="sm" fw={600}>
            {nameOf(key)}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace">
            {key.prefix}…
          </Text>
        </>
      ),
    },
    {
      header: text.status,
      cell: (key) => {
        const status = keyStatusOf(key, nowMs);
        return (
          <Badge variant="light" color={STATUS_COLORS[status]} autoContrast>
            {text.statuses[status]}
          </Badge>
        );
      },
    },
    { header: text.scopes, cell: ({ scopes }) => scopes.map((scope) => text.scopeNames[scope]).join(', ') },
    { header: text.limits, cell: (key) => <LimitsInShort limits={key} /> },
    { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
    { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
    { header: text.expires, cell: ({ expiresAt }) => <Instant at={expiresAt} isRelative /> },
  ];
  const actions: Column<Key> = {
    header: common.actions,
    cell: (key) =>
      keyStatusOf(key, nowMs) !== 'active' ? null : (
        <Group gap={4} wrap="nowrap">
          <Button size="compact-sm" variant="default" onClick={() => setLimited(key)}>
            {text.editLimits}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setReplaced(key)}>
            {text.replace}
          </Button>
          <ConfirmButton
            label={text.revoke}
            question={text.revokeQuestion(nameOf(key))}
            isDangerous
            onConfirm={() => revoke({ path: { id: key.id } })}
          />
        </Group>
      ),
  };
  return (
    <Section title={text.title} lead={text.lead} actions={mayOperate && <Button onClick={open}>{text.create}</Button>}>
      <ListTable
        label={text.title}
        list={list}
        idOf={({ id }) => id}
        columns={mayOperate ? [...columns, actions] : columns}
        empty={<EmptyState title={text.none} hint={text.noneHint} />}
      />
      <NewKeyDialog accountId={accountId} isOpen={isCreating} onClose={close} onCreated={setCreated} />
      <KeyLimitsDialog apiKey={limited} onClose={() => setLimited(null)} />
      <SecretDialog title={text.create} secret={created} hint={text.createdHint} onClose={() => setCreated(null)} />
      <ReplaceKeyDialog apiKey={replaced} onClose={() => setReplaced(null)} onCreated={setCreated} />
    </Section>
  );
}
