import { ActionIcon, Button, Fieldset, Group, NativeSelect, PasswordInput, Stack, TextInput } from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { useChange, useRead } from '../../api/queries.ts';
import { type Fields, listOf } from '../../parts/catalog/catalog-value.ts';
import type { Entry } from '../../parts/catalog/use-entry.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
import { DimmedText, SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import {
  CREDENTIAL_KINDS,
  type CredentialDraft,
  credentialDraft,
  credentialMembers,
  credentialName,
  credentialsOf,
  credentialValue,
  hasLimits,
} from './credential-draft.ts';
import { providersTexts } from './providers-texts.ts';
import { CredentialStates } from './route-state.tsx';

/** The credentials of a provider by reference, each with its state. */
export function CredentialFields({ entry }: { readonly entry: Entry }) {
  const text = useTexts(providersTexts);
  const [stored] = useState(entry.value);
  const values = credentialsOf(entry.value);
  const set = (next: readonly unknown[]): void => entry.change(credentialMembers(next));
  return (
    <Fieldset legend={text.credentials}>
      <Stack gap="xs">
        <DimmedText>{text.credentialsHint}</DimmedText>
        {values.map((value, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: credentials have no names
          <Stack key={index} gap={4}>
            <Group gap="xs" wrap="nowrap" align="flex-end">
              <CredentialField
                number={String(index + 1)}
                draft={credentialDraft(value)}
                onChange={(draft) => set(values.with(index, credentialValue(draft, value)))}
              />
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                disabled={values.length === 1}
                aria-label={text.removeCredential(String(index + 1))}
                onClick={() => set(values.toSpliced(index, 1))}
              >
                <XIcon />
              </ActionIcon>
            </Group>
            {hasLimits(value) && <DimmedText>{text.hasLimits}</DimmedText>}
            {!entry.isNew && isStored(stored, value, index) && (
              <CredentialStates
                provider={entry.name}
                credential={credentialName(index, credentialsOf(stored).length, listOf(stored.apiKeys).length > 0)}
              />
            )}
          </Stack>
        ))}
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<PlusIcon />}
          onClick={() => set([...values, credentialValue({ kind: 'variable', value: '' })])}
          style={{ alignSelf: 'flex-start' }}
        >
          {text.addCredential}
        </Button>
      </Stack>
    </Fieldset>
  );
}

function isStored(stored: Fields, value: unknown, index: number): boolean {
  return JSON.stringify(credentialsOf(stored)[index]) === JSON.stringify(value);
}

interface CredentialFieldProps {
  readonly number: string;
  readonly draft: CredentialDraft;
  readonly onChange: (draft: CredentialDraft) => void;
}

function CredentialField({ number, draft, onChange }: CredentialFieldProps) {
  const text = useTexts(providersTexts);
  const { kind, value } = draft;
  return (
    <>
      <NativeSelect
        aria-label={text.kindOf(number)}
        value={kind}
        onChange={({ currentTarget }) => onChange({ kind: currentTarget.value as CredentialDraft['kind'], value: '' })}
        data={[...CREDENTIAL_KINDS, ...(kind === 'other' ? (['other'] as const) : [])].map((each) => ({
          value: each,
          label: text.kinds[each],
        }))}
        w={130}
        style={{ flexShrink: 0 }}
      />
      {kind === 'secret' ? (
        <SecretChoice number={number} value={value} onChange={(name) => onChange({ kind, value: name })} />
      ) : (
        <TextInput
          aria-label={text.valueOf(number)}
          value={value}
          readOnly={kind === 'other'}
          required
          placeholder={text.examples[kind]}
          onChange={({ currentTarget }) => onChange({ kind, value: currentTarget.value.trim() })}
          autoComplete="off"
          spellCheck={false}
          style={{ flex: 1 }}
        />
      )}
    </>
  );
}

/** No name of a secret starts with this character. */
const NEW_SECRET = '+';

interface SecretChoiceProps {
  readonly number: string;
  readonly value: string;
  readonly onChange: (name: string) => void;
}

function SecretChoice({ number, value, onChange }: SecretChoiceProps) {
  const text = useTexts(providersTexts);
  const secrets = useRead('GET /admin/v1/secrets', {});
  const [isNew, setNew] = useState(false);
  const names = secrets.data?.data.map(({ name }) => name) ?? [];
  const known = value === '' || names.includes(value) ? names : [...names, value];
  return (
    <Stack gap="xs" style={{ flex: 1 }}>
      <NativeSelect
        aria-label={text.valueOf(number)}
        required
        value={isNew ? NEW_SECRET : value}
        onChange={({ currentTarget: { value: chosen } }) => {
          setNew(chosen === NEW_SECRET);
          onChange(chosen === NEW_SECRET ? '' : chosen);
        }}
        data={[{ value: '', label: text.chooseSecret }, ...known, { value: NEW_SECRET, label: text.newSecret }]}
      />
      <ErrorNotice error={secrets.error} />
      {isNew && (
        <NewSecret
          taken={names}
          onSealed={(name) => {
            setNew(false);
            onChange(name);
          }}
        />
      )}
    </Stack>
  );
}

interface NewSecretProps {
  readonly taken: readonly string[];
  readonly onSealed: (name: string) => void;
}

/** Seals a credential at once. Its value is sent once and never read back. */
function NewSecret({ taken, onSealed }: NewSecretProps) {
  const text = useTexts(providersTexts);
  const [name, setName] = useState('');
  const [secret, setSecret] = useState('');
  const { mutate, isPending, error } = useChange('PUT /admin/v1/secrets/{id}');
  const isTaken = taken.includes(name);
  const seal = (): void => mutate({ path: { id: name }, body: { value: secret } }, { onSuccess: () => onSealed(name) });
  return (
    <Stack gap="xs" role="group" aria-label={text.newSecret}>
      <TextInput
        label={text.secretName}
        value={name}
        error={isTaken && text.secretTaken}
        onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
        autoComplete="off"
        spellCheck={false}
      />
      <PasswordInput
        label={text.secretValue}
        description={text.secretHint}
        value={secret}
        onChange={({ currentTarget }) => setSecret(currentTarget.value)}
        autoComplete="off"
      />
      <ErrorNotice error={error} isOfChange />
      <SmallButton
        loading={isPending}
        disabled={name === '' || isTaken || secret.trim() === ''}
        onClick={seal}
        style={{ alignSelf: 'flex-start' }}
      >
        {text.seal}
      </SmallButton>
    </Stack>
  );
}
