import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useRead } from '../api/queries.ts';
import { useTexts } from '../text/language.tsx';
import { filterTexts, looksSecret } from './filters.tsx';
import { useModelNames } from './model-names.ts';
import { pageTexts } from './texts.ts';

const texts = pageTexts(
  {
    any: 'any',
    accountFirst: 'choose an account first',
    search: 'name or e-mail address',
  },
  {
    any: '不限',
    accountFirst: '请先选择账户',
    search: '名称或邮箱',
  },
);

/** What may be chosen: an id, and what people call it. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface PickerProps {
  readonly label: string;
  /** The id that is chosen; `undefined`: none. */
  readonly value: string | undefined;
  readonly onChange: (value: string | null) => void;
  readonly choices: readonly Choice[];
  readonly placeholder?: string | undefined;
  readonly isDisabled?: boolean;
  /** The choices are those of what is typed. */
  readonly search?: { readonly text: string; onType(text: string): void };
}

/** Chooses one of things by their names. An id that is not among them, as of an old link, stays and is shown itself. */
export function Picker({ label, value, onChange, choices, placeholder, isDisabled = false, search }: PickerProps) {
  const text = useTexts(texts);
  const secret = useTexts(filterTexts);
  // Names may be those of several.
  const data = choices.map((choice, i) => ({
    ...choice,
    label: choices.some((other, at) => at !== i && other.label === choice.label)
      ? `${choice.label} · ${choice.value.slice(-4)}`
      : choice.label,
  }));
  const isKnown = value === undefined || data.some((choice) => choice.value === value);
  return (
    <Select
      label={label}
      placeholder={placeholder ?? text.any}
      data={isKnown ? data : [{ value: value!, label: value! }, ...data]}
      value={value ?? null}
      onChange={onChange}
      disabled={isDisabled}
      searchable
      clearable
      limit={100}
      {...(search && {
        onSearchChange: search.onType,
        filter: ({ options }) => options,
        error: looksSecret(search.text) ? secret.secretInFilter : undefined,
      })}
    />
  );
}

/** What is typed into a picker, once somebody has paused; a secret is sent nowhere. */
function useTyped(chosen: string | undefined) {
  const [typed, onType] = useState('');
  const [paused] = useDebouncedValue(typed, 250);
  // The name of what is chosen stands in the field, and is searched for by nobody.
  const search = looksSecret(paused) || paused === chosen ? '' : paused.trim();
  return { search: search === '' ? undefined : search, field: { text: typed, onType } };
}

interface IdPickerProps {
  readonly value: string | undefined;
  readonly onChange: (id: string | null) => void;
}

const FOUND_MAX = 20;

/** Chooses an account of all, by its name. */
export function AccountPicker({ value, onChange }: IdPickerProps) {
  const text = useTexts(texts);
  const known = useRead(
    'GET /admin/v1/accounts/{id}',
    { path: { id: value ?? '' } },
    { isWanted: value !== undefined },
  );
  const name = known.data?.id === value ? known.data?.name : undefined;
  const { search, field } = useTyped(name);
  const found = useRead('GET /admin/v1/accounts', { query: { search, limit: FOUND_MAX } }, { isTyped: true });
  return (
    <Picker
      label={text.account}
      placeholder={text.search}
      value={value}
      onChange={onChange}
      choices={withChosen(value, name, found.data?.data ?? [])}
      search={field}
    />
  );
}

interface UserPickerProps extends IdPickerProps {
  readonly label: string;
  /** What else may be chosen. */
  readonly more: readonly Choice[];
}

/** Chooses a person of all, by the name. */
export function UserPicker({ value, onChange, label, more }: UserPickerProps) {
  const text = useTexts(texts);
  const isPerson = value?.startsWith('usr_') ?? false;
  const known = useRead('GET /admin/v1/users/{id}', { path: { id: value ?? '' } }, { isWanted: isPerson });
  const name = known.data?.id === value ? known.data?.name : undefined;
  const { search, field } = useTyped(name ?? more.find((choice) => choice.value === value)?.label);
  const found = useRead('GET /admin/v1/users', { query: { search, limit: FOUND_MAX } }, { isTyped: true });
  const wanted = search?.toLowerCase() ?? '';
  return (
    <Picker
      label={label}
      placeholder={text.search}
      value={value}
      onChange={onChange}
      choices={[
        ...withChosen(isPerson ? value : undefined, name, found.data?.data ?? []),
        ...more.filter((choice) => choice.value === value || choice.label.toLowerCase().includes(wanted)),
      ]}
      search={field}
    />
  );
}

/** What was found by a name, with what is chosen although it was not. */
function withChosen(
  value: string | undefined,
  name: string | undefined,
  found: readonly { readonly id: string; readonly name: string }[],
): Choice[] {
  const choices = found.map((each) => ({ value: each.id, label: each.name }));
  if (value === undefined || name === undefined || found.some(({ id }) => id === value)) return choices;
  return [{ value, label: name }, ...choices];
}

interface OfAccountProps extends IdPickerProps {
  /** `undefined`: none is chosen yet. */
  readonly accountId: string | undefined;
}

/** Chooses a key of an account: of the newest 500, which is more than people tell apart. */
export function KeyPicker({ value, onChange, accountId, label }: OfAccountProps & { readonly label?: string }) {
  const text = useTexts(texts);
  const isWanted = accountId !== undefined;
  const path = { id: accountId ?? '' };
  const keys = useRead('GET /admin/v1/accounts/{id}/keys', { path, query: { limit: 500 } }, { isWanted }).data?.data;
  return (
    <Picker
      label={label ?? text.key}
      placeholder={isWanted ? text.any : text.accountFirst}
      isDisabled={!isWanted && value === undefined}
      value={value}
      onChange={onChange}
      choices={keys?.map(({ id, name, prefix }) => ({ value: id, label: name ?? prefix })) ?? []}
    />
  );
}

/** Chooses a person of an account, which has no more than these. */
export function MemberPicker({ value, onChange, accountId }: OfAccountProps) {
  const text = useTexts(texts);
  const isWanted = accountId !== undefined;
  const path = { id: accountId ?? '' };
  const members = useRead('GET /admin/v1/accounts/{id}/members', { path, query: { limit: 200 } }, { isWanted });
  return (
    <Picker
      label={text.person}
      placeholder={isWanted ? text.any : text.accountFirst}
      isDisabled={!isWanted && value === undefined}
      value={value}
      onChange={onChange}
      choices={members.data?.data.map(({ userId, name }) => ({ value: userId, label: name })) ?? []}
    />
  );
}

/** Chooses a model that has routes. */
export function ModelPicker({ value, onChange }: IdPickerProps) {
  const text = useTexts(texts);
  const models = useModelNames(true);
  return (
    <Picker
      label={text.model}
      value={value}
      onChange={onChange}
      choices={models.map((id) => ({ value: id, label: id }))}
    />
  );
}
