import { Checkbox, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Key } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { InstantInput, instantOrNull } from '../../parts/forms/instant-input.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import {
  changeOf,
  draftOf,
  isComplete,
  type LimitsDraft,
  limitsOf,
  NO_LIMITS,
} from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { useModelNames } from '../../parts/model-names.ts';
import { commonTexts } from '../../parts/texts.ts';
import { useTexts } from '../../text/language.tsx';
import { keysTexts } from './operator-texts.ts';

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface NewKeyDialogProps extends DialogProps {
  readonly accountId: string;
  readonly onCreated: (key: string) => void;
}

const SCOPES = ['calls', 'account'] as const;

interface NewKeyDraft {
  readonly name: string;
  readonly expires: string;
  readonly scopes: readonly (typeof SCOPES)[number][];
  readonly limits: LimitsDraft;
}

const emptyDraft = (): NewKeyDraft => ({ name: '', expires: '', scopes: ['calls'], limits: NO_LIMITS });

export function NewKeyDialog({ accountId, isOpen, onClose, onCreated }: NewKeyDialogProps) {
  const text = useTexts(keysTexts);
  const models = useModelNames(isOpen);
  const [draft, set] = useDraft(emptyDraft, isOpen);
  const { incomplete } = useTexts(limitsTexts);
  const { name, expires, scopes, limits } = draft;
  const toggle = (scope: (typeof SCOPES)[number]): void =>
    set({ scopes: SCOPES.filter((each) => (each === scope) !== scopes.includes(each)) });
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/accounts/{id}/keys"
      title={text.create}
      submitLabel={text.create}
      size="lg"
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({
        path: { id: accountId },
        body: { name, scopes, expiresAt: instantOrNull(expires), ...limitsOf(limits) },
      })}
      problem={() => (isComplete(limits) ? null : incomplete)}
      onDone={({ key }) => onCreated(key)}
    >
      <TextInput
        label={text.name}
        required
        data-autofocus
        maxLength={200}
        value={name}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <InstantInput
        label={text.expires}
        description={text.expiresHint}
        value={expires}
        onChange={(entered) => set({ expires: entered })}
      />
      <Checkbox.Group label={text.scopes} value={[...scopes]}>
        <Group mt={4}>
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              value={scope}
              label={text.scopeNames[scope]}
              checked={scopes.includes(scope)}
              onChange={() => toggle(scope)}
            />
          ))}
        </Group>
      </Checkbox.Group>
      <LimitFields draft={limits} onChange={(entered) => set({ limits: entered })} models={models} />
    </ChangeDialog>
  );
}

interface KeyDialogProps {
  /** `null`: closed. */
  readonly apiKey: Key | null;
  readonly onClose: () => void;
}

export function KeyLimitsDialog({ apiKey, onClose }: KeyDialogProps) {
  const text = useTexts(keysTexts);
  const common = useTexts(commonTexts);
  const isOpen = apiKey !== null;
  const models = useModelNames(isOpen);
  const { incomplete, limitsHint } = useTexts(limitsTexts);
  const [draft, set, opened] = useDraft(() => (apiKey === null ? NO_LIMITS : draftOf(apiKey)), isOpen);
  const input = () => {
    const body = changeOf(opened, draft);
    return Object.keys(body).length === 0 ? null : { path: { id: apiKey?.id ?? '' }, body };
  };
  return (
    <ChangeDialog
      endpoint="PATCH /admin/v1/keys/{id}"
      title={text.limitsOf(nameOf(apiKey))}
      submitLabel={common.save}
      size="lg"
      isOpen={isOpen}
      onClose={onClose}
      input={input}
      problem={() => (isComplete(draft) ? null : incomplete)}
    >
      <Text size="sm">{limitsHint}</Text>
      <LimitFields draft={draft} onChange={set} models={models} />
    </ChangeDialog>
  );
}

const KEEP_CHOICES = ['0', '3600', '86400', '604800', '2592000'] as const;

export function ReplaceKeyDialog({
  apiKey,
  onClose,
  onCreated,
}: KeyDialogProps & { readonly onCreated: (key: string) => void }) {
  const text = useTexts(keysTexts);
  const [keepOld, setKeepOld] = useState<(typeof KEEP_CHOICES)[number]>('86400');
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/keys/{id}/replacement"
      title={text.replaceOf(nameOf(apiKey))}
      submitLabel={text.replace}
      isOpen={apiKey !== null}
      onClose={onClose}
      input={() => ({
        path: { id: apiKey?.id ?? '' },
        body: { keepOldSeconds: Number(keepOld), expiresAt: apiKey?.expiresAt ?? null },
      })}
      onDone={({ key }) => onCreated(key)}
    >
      <Text size="sm">{text.replaceHint}</Text>
      <NativeSelect
        label={text.keepOld}
        data-autofocus
        value={keepOld}
        onChange={({ currentTarget }) => setKeepOld(currentTarget.value as (typeof KEEP_CHOICES)[number])}
        data={KEEP_CHOICES.map((value) => ({ value, label: text.keepChoices[value] }))}
      />
    </ChangeDialog>
  );
}

/** What people know a key by. */
export function nameOf(key: Key | null): string {
  return key === null ? '' : (key.name ?? key.prefix);
}
