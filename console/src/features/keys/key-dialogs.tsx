import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Key, ReplacementKey } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { changeById } from '../../parts/forms/changed-members.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { changeOf, draftOf, isComplete } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ExpiryField, expiresAtOf, NO_EXPIRY, SAME_EXPIRY } from './key-expiry.tsx';
import { keysTexts } from './texts.ts';

export interface KeyEndpoints {
  readonly change: 'PATCH /account/v1/keys/{id}' | 'PATCH /admin/v1/keys/{id}';
  readonly replace: 'POST /account/v1/keys/{id}/replacement' | 'POST /admin/v1/keys/{id}/replacement';
  readonly revoke: 'DELETE /account/v1/keys/{id}' | 'DELETE /admin/v1/keys/{id}';
}

export interface OpenKeyDialog {
  readonly kind: 'rename' | 'limits' | 'replace' | 'revoke';
  readonly apiKey: Key;
}

interface KeyDialogsProps {
  readonly endpoints: KeyEndpoints;
  readonly dialog: OpenKeyDialog | null;
  readonly onClose: () => void;
  readonly models: readonly string[];
  /** Label of the button that changes limits. */
  readonly limitsLabel: string;
  /** A note on the expiry of the new key. */
  readonly replaceHint?: string;
}

/** The dialogs of a key in a list, and the secret of a replacement key. */
export function KeyDialogs({ endpoints, dialog, onClose, models, limitsLabel, replaceHint }: KeyDialogsProps) {
  const [made, setMade] = useState<ReplacementKey | null>(null);
  const opened = { endpoints, onClose };
  return (
    <>
      {dialog?.kind === 'rename' && <RenameDialog {...opened} apiKey={dialog.apiKey} />}
      {dialog?.kind === 'limits' && (
        <LimitsDialog {...opened} apiKey={dialog.apiKey} models={models} submitLabel={limitsLabel} />
      )}
      {dialog?.kind === 'replace' && (
        <ReplaceDialog {...opened} apiKey={dialog.apiKey} hint={replaceHint} onMade={setMade} />
      )}
      {dialog?.kind === 'revoke' && <RevokeDialog {...opened} apiKey={dialog.apiKey} />}
      <Replacement made={made} onClose={() => setMade(null)} />
    </>
  );
}

interface KeyDialogProps extends Pick<KeyDialogsProps, 'endpoints' | 'onClose'> {
  readonly apiKey: Key;
}

function RenameDialog({ endpoints, apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  const before = apiKey.name ?? '';
  const [{ name }, field] = useDraft(() => ({ name: before }));
  return (
    <ChangeDialog
      endpoint={endpoints.change}
      title={text.renameTitle(nameOf(apiKey))}
      submitLabel={text.rename}
      isOpen
      onClose={onClose}
      input={() => (name.trim() === before ? null : { path: { id: apiKey.id }, body: { name: name.trim() } })}
      doneText={text.renamed}
    >
      <TextInput
        label={text.name}
        description={text.nameHint}
        required
        maxLength={200}
        {...field('name')}
        data-autofocus
      />
    </ChangeDialog>
  );
}

interface LimitsDialogProps extends KeyDialogProps {
  readonly models: readonly string[];
  readonly submitLabel: string;
}

/** Sends only the changed limits and allow-lists. */
function LimitsDialog({ endpoints, apiKey, onClose, models, submitLabel }: LimitsDialogProps) {
  const text = useTexts(keysTexts);
  const limitsText = useTexts(limitsTexts);
  const [draft, , set, opened] = useDraft(() => draftOf(apiKey));
  return (
    <ChangeDialog
      endpoint={endpoints.change}
      title={text.limitsOf(nameOf(apiKey))}
      submitLabel={submitLabel}
      size="lg"
      noValidate
      isOpen
      onClose={onClose}
      input={() => changeById(apiKey.id, changeOf(opened, draft))}
      problem={() => (isComplete(draft) ? null : limitsText.incomplete)}
      doneText={text.limitsChanged}
    >
      <Text size="sm">{limitsText.limitsHint}</Text>
      <LimitFields draft={draft} onChange={set} models={models} />
    </ChangeDialog>
  );
}

const KEEP_OLD_SECONDS = ['0', '3600', '86400', '604800', '2592000'] as const;

interface ReplaceDialogProps extends KeyDialogProps {
  readonly hint: string | undefined;
  readonly onMade: (made: ReplacementKey) => void;
}

/** Creates a replacement, whose secret is shown once. The old key may stay valid for a while. */
function ReplaceDialog({ endpoints, apiKey, onClose, hint, onMade }: ReplaceDialogProps) {
  const text = useTexts(keysTexts);
  const { billingTimezone } = useSession();
  const limitsText = useTexts(limitsTexts);
  const endsAt = apiKey.expiresAt;
  const [{ keepOldSeconds, expiry }, field] = useDraft(() => ({
    keepOldSeconds: '86400',
    // The default keeps the expiry, so that a replacement does not become unlimited by mistake.
    expiry: endsAt === null ? NO_EXPIRY : SAME_EXPIRY,
  }));
  const expiresAt = () => expiresAtOf(expiry, billingTimezone, Date.now(), endsAt);
  return (
    <ChangeDialog
      endpoint={endpoints.replace}
      title={text.replaceTitle(nameOf(apiKey))}
      submitLabel={text.replace}
      isOpen
      onClose={onClose}
      input={() => ({
        path: { id: apiKey.id },
        body: { keepOldSeconds: Number(keepOldSeconds), expiresAt: expiresAt() },
      })}
      problem={() => (expiresAt() === undefined ? limitsText.incomplete : null)}
      onDone={onMade}
    >
      <Text size="sm">{text.replaceLead}</Text>
      <NativeSelect
        label={text.keepOld}
        {...field('keepOldSeconds')}
        data={KEEP_OLD_SECONDS.map((value) => ({ value, label: text.keepOldChoices[value] }))}
      />
      <ExpiryField label={text.newExpires} {...field('expiry')} hasSame={endsAt !== null} />
      {hint !== undefined && <Text size="sm">{hint}</Text>}
    </ChangeDialog>
  );
}

function Replacement({ made, onClose }: { readonly made: ReplacementKey | null; readonly onClose: () => void }) {
  const text = useTexts(keysTexts);
  const format = useFormat();
  const isOver = made !== null && Date.parse(made.replaces.validUntil) <= Date.now();
  return (
    <SecretDialog title={text.replaced} secret={made?.key ?? null} hint={text.keyOnce} onClose={onClose}>
      {made !== null && (isOver ? text.oldEnded : text.oldEnds(format.instant(made.replaces.validUntil)))}
    </SecretDialog>
  );
}

function RevokeDialog({ endpoints, apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  return (
    <ChangeDialog
      endpoint={endpoints.revoke}
      title={text.revokeTitle(nameOf(apiKey))}
      submitLabel={text.revoke}
      isDangerous
      isOpen
      onClose={onClose}
      input={() => ({ path: { id: apiKey.id } })}
      doneText={text.revoked}
    >
      <Text>{text.revokeQuestion}</Text>
    </ChangeDialog>
  );
}

function nameOf({ name, prefix }: Key): string {
  return name === null ? prefix : `${name} (${prefix})`;
}
