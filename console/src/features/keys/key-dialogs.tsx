import { NativeSelect, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useAccountChoice } from '../../api/account-choice.ts';
import { useChange } from '../../api/queries.ts';
import type { OwnKey, OwnReplacementKey } from '../../api/types.ts';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { changeOf, draftOf, isComplete } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ExpiryField, expiresAtOf, NO_EXPIRY } from './key-expiry.tsx';
import { useOwnModelNames } from './own-model-names.ts';
import { keysTexts } from './texts.ts';

interface KeyDialogProps {
  readonly apiKey: OwnKey;
  readonly onClose: () => void;
}

/** Changes the limits and allow-lists of a key. Only what was changed is sent. */
export function LimitsDialog({ apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  const limitsText = useTexts(limitsTexts);
  const models = useOwnModelNames();
  const change = useChange('PATCH /account/v1/keys/{id}');
  const [before] = useState(() => draftOf(apiKey));
  const [draft, setDraft] = useState(before);
  const [isIncomplete, setIsIncomplete] = useState(false);
  const submit = (): void => {
    setIsIncomplete(!isComplete(draft));
    if (!isComplete(draft)) return;
    const body = changeOf(before, draft);
    if (Object.keys(body).length === 0) {
      onClose();
      return;
    }
    change.mutate(
      { path: { id: apiKey.id }, body },
      {
        onSuccess: () => {
          notifications.show({ color: 'teal', message: text.changed });
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={text.changeTitle(nameOf(apiKey))}
      isOpen
      onClose={onClose}
      submitLabel={text.changeLimits}
      onSubmit={submit}
      isBusy={change.isPending}
      error={isIncomplete ? new Error(limitsText.incomplete) : change.error}
      size="lg"
      noValidate
    >
      <Text size="sm">{limitsText.limitsHint}</Text>
      <LimitFields draft={draft} onChange={setDraft} models={models} />
    </FormDialog>
  );
}

const KEEP_OLD_SECONDS = ['0', '3600', '86400', '604800', '2592000'] as const;

/** Replaces a key by a new one, which is shown once; the old one may go on for a while. */
export function ReplaceDialog({ apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  const format = useFormat();
  const { role } = useAccountChoice();
  const replace = useChange('POST /account/v1/keys/{id}/replacement');
  const [keepOldSeconds, setKeepOldSeconds] = useState<string>('86400');
  const [expiry, setExpiry] = useState(NO_EXPIRY);
  const [made, setMade] = useState<OwnReplacementKey | null>(null);
  const submit = (): void => {
    const expiresAt = expiresAtOf(expiry, Date.now());
    if (expiresAt === undefined) return;
    const body = { keepOldSeconds: Number(keepOldSeconds), expiresAt };
    replace.mutate({ path: { id: apiKey.id }, body }, { onSuccess: setMade });
  };
  const isOver = made !== null && Date.parse(made.replaces.validUntil) <= Date.now();
  return (
    <>
      <FormDialog
        title={text.replaceTitle(nameOf(apiKey))}
        isOpen={made === null}
        onClose={onClose}
        submitLabel={text.replace}
        onSubmit={submit}
        isBusy={replace.isPending}
        error={replace.error}
      >
        <Text size="sm">{text.replaceLead}</Text>
        <NativeSelect
          label={text.keepOld}
          value={keepOldSeconds}
          onChange={({ currentTarget }) => setKeepOldSeconds(currentTarget.value)}
          data={KEEP_OLD_SECONDS.map((value) => ({ value, label: text.keepOldChoices[value] }))}
        />
        <ExpiryField label={text.newExpires} value={expiry} onChange={setExpiry} />
        {role === 'member' && <Text size="sm">{text.memberEnd}</Text>}
      </FormDialog>
      <SecretDialog title={text.replaced} secret={made?.key ?? null} hint={text.keyOnce} onClose={onClose}>
        {made !== null && (isOver ? text.oldEnded : text.oldEnds(format.instant(made.replaces.validUntil)))}
      </SecretDialog>
    </>
  );
}

/** Revokes a key for good. */
export function RevokeDialog({ apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  const revoke = useChange('DELETE /account/v1/keys/{id}');
  const submit = (): void =>
    revoke.mutate(
      { path: { id: apiKey.id } },
      {
        onSuccess: () => {
          notifications.show({ color: 'teal', message: text.revoked });
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={text.revokeTitle(nameOf(apiKey))}
      isOpen
      onClose={onClose}
      submitLabel={text.revoke}
      onSubmit={submit}
      isBusy={revoke.isPending}
      error={revoke.error}
      isDangerous
    >
      <Text>{text.revokeQuestion}</Text>
    </FormDialog>
  );
}

function nameOf({ name, prefix }: OwnKey): string {
  return name === null ? prefix : `${name} (${prefix})`;
}
