import { Button } from '@mantine/core';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { useModelNames } from '../../parts/model-names.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { KeyDialogs, type KeyEndpoints, type OpenKeyDialog } from './key-dialogs.tsx';
import { KeyMenu } from './key-menu.tsx';
import { useKeyColumns } from './key-table.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { operatorKeysTexts } from './operator-texts.ts';

const ENDPOINTS: KeyEndpoints = {
  change: 'PATCH /admin/v1/keys/{id}',
  replace: 'POST /admin/v1/keys/{id}/replacement',
  revoke: 'DELETE /admin/v1/keys/{id}',
};

export function KeysTab({ accountId }: { readonly accountId: string }) {
  const text = useTexts(operatorKeysTexts);
  const mayOperate = useMayOperate();
  const [open, newKey] = usePlaceDialog('new');
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
        actions={(key) => (
          <KeyMenu
            apiKey={key}
            calls={hashOf('/operator/calls', { accountId, keyId: key.id })}
            usage={hashOf('/operator/usage', { accountId, keyId: key.id })}
            mayChange={mayOperate}
            mayChangeLimits
            onOpen={setDialog}
          />
        )}
        isInPlace
        empty={<EmptyState title={text.none} hint={text.noneHint} />}
      />
      {mayOperate && (
        <NewKeyDialog
          endpoint="POST /admin/v1/accounts/{id}/keys"
          path={{ id: accountId }}
          title={text.create}
          models={models}
          people={null}
          isShort={false}
          {...newKey}
        />
      )}
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
