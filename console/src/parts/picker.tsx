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

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface PickerProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | null) => void;
  readonly choices: readonly Choice[];
  readonly placeholder?: string | undefined;
  readonly isDisabled?: boolean;
  /** Search by the gateway: the choices match the text. */
  readonly search?: { readonly text: string; onType(text: string): void };
}

/** Chooses an item by its label. An unknown id, for example from an old link, stays and is shown as it is. */
export function Picker({ label, value, onChange, choices, placeholder, isDisabled = false, search }: PickerProps) {
  const text = useTexts(texts);
  const secret = useTexts(filterTexts);
  // Labels may not be unique.
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

/** The text typed into a picker, debounced. Secrets are not sent. */
function useTyped(chosen: string | undefined) {
  const [typed, onType] = useState('');
  const [paused] = useDebouncedValue(typed, 250);
  // The label of the chosen item is not a search.
  const search = looksSecret(paused) || paused === chosen ? '' : paused.trim();
  return { search: search === '' ? undefined : search, field: { text: typed, onType } };
}

interface IdPickerProps {
  readonly value: string | undefined;
  readonly onChange: (id: string | null) => void;
}

const FOUND_MAX = 20;

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
  readonly more: readonly Choice[];
}

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

/** The search results plus the chosen item. */
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
  /** `undefined` until an account is chosen. */
  readonly accountId: string | undefined;
}

/** Chooses one of the newest 500 keys of an account. */
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

/** Chooses a member of an account, which has at most 200. */
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

export function ProviderPicker({ value, onChange }: IdPickerProps) {
  const text = useTexts(texts);
  const routes = useRead('GET /admin/v1/routes', {}).data?.data ?? [];
  const names = [...new Set(routes.map(({ provider }) => provider))].sort();
  return (
    <Picker
      label={text.onlyProvider}
      value={value}
      onChange={onChange}
      choices={names.map((id) => ({ value: id, label: id }))}
    />
  );
}
