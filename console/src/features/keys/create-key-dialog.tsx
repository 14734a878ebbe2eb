import { Button, Checkbox, Collapse, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { isComplete, type LimitsDraft, limitsOf, NO_LIMITS } from '../../parts/limits/limit-draft.ts';
import { LimitFields } from '../../parts/limits/limit-fields.tsx';
import { limitsTexts } from '../../parts/limits/texts.ts';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { useTexts } from '../../text/language.tsx';
import { type Expiry, ExpiryField, expiresAtOf, NO_EXPIRY } from './key-expiry.tsx';
import { useOwnModelNames } from './own-model-names.ts';
import type { People } from './people.ts';
import { keysTexts } from './texts.ts';

type NewKey = BodyOf<'POST /account/v1/keys'>;
type Scope = NonNullable<NewKey['scopes']>[number];

interface NewKeyDraft {
  readonly name: string;
  readonly expiry: Expiry;
  readonly scopes: readonly Scope[];
  /** Empty: the account's. */
  readonly userId: string;
  readonly limits: LimitsDraft;
}

const EMPTY: NewKeyDraft = { name: '', expiry: NO_EXPIRY, scopes: ['calls'], userId: '', limits: NO_LIMITS };
const SCOPES: readonly Scope[] = ['calls', 'account'];

/** Creates a key: a name and an expiry are enough, and all else stands behind a button. */
export function CreateKeyButton({ people }: { readonly people: People | null }) {
  const text = useTexts(keysTexts);
  const limitsText = useTexts(limitsTexts);
  const models = useOwnModelNames();
  const create = useChange('POST /account/v1/keys');
  const [isOpen, setIsOpen] = useState(false);
  const [isLong, setIsLong] = useState(false);
  const [isIncomplete, setIsIncomplete] = useState(false);
  const [draft, setDraft] = useState(EMPTY);
  const [key, setKey] = useState<string | null>(null);
  const open = (): void => {
    create.reset();
    setDraft(EMPTY);
    setIsLong(false);
    setIsIncomplete(false);
    setIsOpen(true);
  };
  const submit = (): void => {
    const expiresAt = expiresAtOf(draft.expiry, Date.now());
    if (expiresAt === undefined || draft.scopes.length === 0 || !isComplete(draft.limits)) {
      setIsIncomplete(true);
      return;
    }
    setIsIncomplete(false);
    const body: NewKey = {
      name: draft.name.trim() || text.defaultName,
      expiresAt,
      scopes: draft.scopes,
      ...(draft.userId === '' ? {} : { userId: draft.userId }),
      ...limitsOf(draft.limits),
    };
    create.mutate(
      { body },
      {
        onSuccess: (made) => {
          setIsOpen(false);
          setKey(made.key);
        },
      },
    );
  };
  return (
    <>
      <Button onClick={open}>{text.create}</Button>
      <FormDialog
        title={text.create}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        submitLabel={text.create}
        onSubmit={submit}
        isBusy={create.isPending}
        error={isIncomplete ? new Error(limitsText.incomplete) : create.error}
        size="lg"
        noValidate
      >
        <TextInput
          label={text.name}
          description={text.nameHint}
          placeholder={text.defaultName}
          maxLength={200}
          value={draft.name}
          onChange={({ currentTarget }) => setDraft({ ...draft, name: currentTarget.value })}
          data-autofocus
        />
        <ExpiryField value={draft.expiry} onChange={(expiry) => setDraft({ ...draft, expiry })} />
        <Button
          variant="subtle"
          size="compact-sm"
          style={{ alignSelf: 'flex-start' }}
          aria-expanded={isLong}
          onClick={() => setIsLong(!isLong)}
        >
          {isLong ? text.less : text.more}
        </Button>
        <Collapse expanded={isLong}>
          <Stack>
            <Checkbox.Group
              label={text.scopes}
              value={[...draft.scopes]}
              onChange={(scopes) => setDraft({ ...draft, scopes: SCOPES.filter((scope) => scopes.includes(scope)) })}
              error={draft.scopes.length === 0 && text.scopeMissing}
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
                value={draft.userId}
                onChange={({ currentTarget }) => setDraft({ ...draft, userId: currentTarget.value })}
                data={[
                  { value: '', label: text.ofAccount },
                  ...[...people].map(([value, label]) => ({ value, label })),
                ]}
              />
            )}
            <LimitFields draft={draft.limits} onChange={(limits) => setDraft({ ...draft, limits })} models={models} />
          </Stack>
        </Collapse>
      </FormDialog>
      <SecretDialog title={text.created} secret={key} hint={text.keyOnce} onClose={() => setKey(null)}>
        {text.keyOnceHint}
      </SecretDialog>
    </>
  );
}
