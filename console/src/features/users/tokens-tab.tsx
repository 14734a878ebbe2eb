import { Button, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { AdminToken } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { InstantInput } from '../../parts/forms/instant-input.tsx';
import { type DialogProps, usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { KeyStateBadge, keyStateOf } from '../../parts/keys/key-state.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { fromLocalTime } from '../../text/local-time.ts';
import { useTimezone } from '../../text/timezone.tsx';
import { usersTexts } from './texts.ts';

/** `export` is a token with the scope `export` and no role. */
const ROLES = ['auditor', 'operator', 'export'] as const;

export function TokensTab() {
  const text = useTexts(usersTexts);
  const nowMs = useNowMs();
  const mayOperate = useMayOperate();
  const [open, newToken] = usePlaceDialog('new-token');
  const [created, setCreated] = useState<string | null>(null);
  const list = useList('GET /admin/v1/tokens', {});
  const columns: Column<AdminToken>[] = [
    {
      header: text.name,
      cell: ({ name, prefix }) => (
        <>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <SmallText ff="monospace">{prefix}…</SmallText>
        </>
      ),
    },
    { header: text.role, cell: ({ role }) => text.roles[role ?? 'export'] },
    {
      header: text.status,
      cell: (token) => <KeyStateBadge state={keyStateOf(token, nowMs)} />,
    },
    { header: text.lastUsed, cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} isRelative /> },
    { header: text.created, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
    { header: text.by, cell: ({ createdBy }) => createdBy },
    { header: text.expires, cell: ({ expiresAt }) => <Instant at={expiresAt} /> },
  ];
  const actions = (token: AdminToken) =>
    keyStateOf(token, nowMs) === 'active' && (
      <ConfirmButton
        label={text.revoke}
        question={text.revokeQuestion(token.name)}
        isDangerous
        endpoint="DELETE /admin/v1/tokens/{id}"
        input={{ path: { id: token.id } }}
      />
    );
  return (
    <Section
      title={text.tokens}
      lead={text.tokensLead}
      actions={mayOperate && <Button onClick={open}>{text.newToken}</Button>}
    >
      <ListTable
        label={text.tokens}
        list={list}
        columns={columns}
        actions={mayOperate && actions}
        empty={<EmptyState title={text.noTokens} hint={text.noTokensHint} />}
      />
      <SecretDialog title={text.newToken} secret={created} hint={text.tokenHint} onClose={() => setCreated(null)} />
      {mayOperate && <NewTokenDialog {...newToken} onCreated={setCreated} />}
    </Section>
  );
}

interface NewTokenDialogProps extends DialogProps {
  readonly onCreated: (token: string) => void;
}

function NewTokenDialog({ onCreated, ...dialog }: NewTokenDialogProps) {
  const text = useTexts(usersTexts);
  const { zone } = useTimezone();
  const [{ name, role, expires }, field] = useDraft(
    () => ({
      name: '',
      role: 'auditor' as (typeof ROLES)[number],
      expires: '',
    }),
    dialog.isOpen,
  );
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/tokens"
      title={text.newToken}
      {...dialog}
      input={() => {
        const rights = role === 'export' ? { scopes: ['export' as const] } : { role };
        return { body: { name, ...rights, expiresAt: fromLocalTime(expires, zone) || null } };
      }}
      onDone={({ token }) => onCreated(token)}
    >
      <TextInput label={text.name} required data-autofocus maxLength={200} {...field('name')} />
      <NativeSelect
        label={text.role}
        description={text.tokenRoleHint}
        {...field('role')}
        data={ROLES.map((value) => ({ value, label: text.roles[value] }))}
      />
      <InstantInput label={text.expires} description={text.expiresHint} {...field('expires')} />
    </ChangeDialog>
  );
}
