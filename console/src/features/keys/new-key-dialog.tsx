import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { Folded } from '../../parts/folded.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { isComplete, type LimitsDraft, limitsOf, NO_LIMITS } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import type { People } from '../../parts/people.ts';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { type Expiry, ExpiryField, expiresAtOf, NO_EXPIRY } from './key-expiry.tsx';
import { keysTexts } from './texts.ts';

type Scope = NonNullable<BodyOf<'POST /account/v1/keys'>['scopes']>[number];

interface NewKeyDraft {
  readonly name: string;
  readonly expiry: Expiry;
  readonly scopes: readonly Scope[];
  /** Empty for the account. */
  readonly userId: string;
  readonly limits: LimitsDraft;
}

const SCOPES: readonly Scope[] = ['calls', 'account'];
const emptyDraft = (): NewKeyDraft => ({
  name: '',
  expiry: NO_EXPIRY,
  scopes: ['calls'],
  userId: '',
  limits: NO_LIMITS,
});

interface NewKeyDialogProps extends DialogProps {
  readonly endpoint: 'POST /account/v1/keys' | 'POST /admin/v1/accounts/{id}/keys';
  readonly path?: { readonly id: string };
  readonly title: string;
  readonly models: readonly string[];
  /** Possible owners of the key; `null` if there is no choice. */
  readonly people: People | null;
  /** Hides everything but name and expiry behind a button. */
  readonly isShort: boolean;
}

export function NewKeyDialog(props: NewKeyDialogProps) {
  const { endpoint, path = {}, title, models, people, isShort, ...dialog } = props;
  const text = useTexts(keysTexts);
  const { billingTimezone } = useSession();
  const limitsText = useTexts(limitsTexts);
  const [draft, field, set] = useDraft(emptyDraft, dialog.isOpen);
  const [secret, setSecret] = useState<string | null>(null);
  const { name, expiry, scopes, userId, limits } = draft;
  const expiresAt = () => expiresAtOf(expiry, billingTimezone, Date.now());
  const isWhole = (): boolean => expiresAt() !== undefined && scopes.length > 0 && isComplete(limits);
  const more = <MoreFields draft={draft} field={field} onChange={set} models={models} people={people} />;
  return (
    <>
      <ChangeDialog
        endpoint={endpoint}
        title={title}
        size="lg"
        noValidate
        {...dialog}
        input={() => ({
          path,
          body: {
            name: name.trim() || text.defaultName,
            expiresAt: expiresAt(),
            scopes,
            ...(userId === '' ? {} : { userId }),
            ...limitsOf(limits),
          },
        })}
        problem={() => (isWhole() ? null : limitsText.incomplete)}
        onDone={({ key }) => setSecret(key)}
      >
        <TextInput
          label={text.name}
          description={text.nameHint}
          placeholder={text.defaultName}
          maxLength={200}
          {...field('name')}
          data-autofocus
        />
        <ExpiryField {...field('expiry')} />
        {isShort ? (
          <Folded more={text.more} less={text.less}>
            {more}
          </Folded>
        ) : (
          more
        )}
      </ChangeDialog>
      <SecretDialog title={text.created} secret={secret} hint={text.keyOnce} onClose={() => setSecret(null)}>
        {text.keyOnceHint}
      </SecretDialog>
    </>
  );
}

interface MoreFieldsProps extends Pick<NewKeyDialogProps, 'models' | 'people'> {
  readonly draft: NewKeyDraft;
  readonly field: FieldOf<NewKeyDraft>;
  readonly onChange: (change: Partial<NewKeyDraft>) => void;
}

function MoreFields({ draft: { scopes, limits }, field, onChange, models, people }: MoreFieldsProps) {
  const text = useTexts(keysTexts);
  return (
    <Stack>
      <Checkbox.Group
        label={text.scopes}
        value={[...scopes]}
        onChange={(chosen) => onChange({ scopes: SCOPES.filter((scope) => chosen.includes(scope)) })}
        error={scopes.length === 0 && text.scopeMissing}
      >
        <Stack gap="xs" mt="xs">
          {SCOPES.map((scope) => (
            <Checkbox key={scope} value={scope} label={text.scopeHints[scope]} />
          ))}
        </Stack>
      </Checkbox.Group>
      {people !== null && (
        <NativeSelect
          label={text.owner}
          description={text.ownerHint}
          {...field('userId')}
          data={[{ value: '', label: text.ofAccount }, ...[...people].map(([value, label]) => ({ value, label }))]}
        />
      )}
      <LimitFields draft={limits} onChange={(changed) => onChange({ limits: changed })} models={models} />
    </Stack>
  );
}
