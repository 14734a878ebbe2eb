import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { Instant, useNowMs } from '../../parts/figures.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { keyStateOf } from '../../parts/keys/key-state.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { useModelNames } from '../../parts/model-names.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { KeyDialogs, type KeyEndpoints, type OpenKeyDialog } from './key-dialogs.tsx';
import { useKeyColumns } from './key-table.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { operatorKeysTexts } from './operator-texts.ts';
import { keysTexts } from './texts.ts';

const ENDPOINTS: KeyEndpoints = {
  change: 'PATCH /admin/v1/keys/{id}',
  replace: 'POST /admin/v1/keys/{id}/replacement',
  revoke: 'DELETE /admin/v1/keys/{id}',
};

export function KeysTab({ accountId }: { readonly accountId: string }) {
  const text = useTexts(operatorKeysTexts);
  const mayOperate = useMayOperate();
  const [open, newKey] = useDialog();
  const [dialog, setDialog] = useState<OpenKeyDialog | null>(null);
  const models = useModelNames(newKey.isOpen || dialog !== null);
  const list = useList('GET /admin/v1/accounts/{id}/keys', { path: { id: accountId } }, { isLive: true });
  const created: Column<Key> = {
    header: text.created,
    cell: ({ createdAt }) => <Instant at={createdAt} isRelative />,
  };
  return (
    <Section
      title={text.apiKeys}
      lead={text.lead}
      actions={mayOperate && <Button onClick={open}>{text.create}</Button>}
    >
      <ListTable
        label={text.apiKeys}
        list={list}
        columns={useKeyColumns([created])}
        actions={mayOperate && ((key: Key) => <KeyButtons apiKey={key} onOpen={setDialog} />)}
        empty={<EmptyState title={text.none} hint={text.noneHint} />}
      />
      <NewKeyDialog
        endpoint="POST /admin/v1/accounts/{id}/keys"
        path={{ id: accountId }}
        title={text.create}
        models={models}
        people={null}
        isShort={false}
        {...newKey}
      />
      <KeyDialogs
        endpoints={ENDPOINTS}
        dialog={dialog}
        onClose={() => setDialog(null)}
        models={models}
        limitsLabel={text.save}
      />
    </Section>
  );
}

interface KeyButtonsProps {
  readonly apiKey: Key;
  readonly onOpen: (dialog: OpenKeyDialog) => void;
}

function KeyButtons({ apiKey, onOpen }: KeyButtonsProps) {
  const text = useTexts(keysTexts);
  const labels = { rename: text.rename, limits: text.limitColumn, replace: text.replace, revoke: text.revoke };
  if (keyStateOf(apiKey, useNowMs()) !== 'active') return null;
  return (
    <Group gap={4}>
      {(['rename', 'limits', 'replace', 'revoke'] as const).map((kind) => (
        <SmallButton key={kind} onClick={() => onOpen({ kind, apiKey })}>
          {labels[kind]}
        </SmallButton>
      ))}
    </Group>
  );
}
