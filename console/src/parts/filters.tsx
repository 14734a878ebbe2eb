import { Button, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { FilterIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { defineTexts, useTexts } from '../text/language.tsx';
import { fromLocalTime, toLocalTime } from '../text/local-time.ts';
import { useTimezone } from '../text/timezone.tsx';
import { CalendarField } from './calendar-field.tsx';
import { isDay } from './days.ts';
import { type Place, usePlaceQuery } from './location.ts';
import { DimmedText } from './small.ts';
import { commonTexts } from './texts.ts';
import { useIsPhone } from './use-is-phone.ts';

export const filterTexts = defineTexts(
  {
    filters: (inForce: number) => (inForce === 0 ? 'Filters' : `Filters: ${inForce} in force`),
    secretInFilter: 'This looks like an API key. Keys are not sent from here.',
  },
  {
    filters: (inForce: number) => (inForce === 0 ? '筛选' : `筛选：${inForce} 项生效`),
    secretInFilter: '这似乎是 API 密钥，不会从此处发送。',
  },
);

interface FoldedFiltersProps {
  /** Query parameters of the filters in the page address. */
  readonly names: readonly string[];
  readonly children: ReactNode;
}

/** The filters of a page. On phones, a button with the number of active filters unfolds them. */
export function FoldedFilters({ names, children }: FoldedFiltersProps) {
  const text = useTexts(filterTexts);
  const [query] = usePlaceQuery();
  const [isOpen, { toggle }] = useDisclosure(false);
  if (!useIsPhone()) return children;
  return (
    <Stack gap="xs" mb="md">
      <Button variant="default" leftSection={<FilterIcon />} aria-expanded={isOpen} onClick={toggle}>
        {text.filters(names.filter((name) => query[name] !== undefined).length)}
      </Button>
      {isOpen && children}
    </Stack>
  );
}

/** The filters of an operator's list: its own, by time, and a button to clear all. */
export function FilterGrid({ names, children }: FoldedFiltersProps) {
  const text = useTexts(commonTexts);
  const [query, change] = usePlaceQuery();
  return (
    <FoldedFilters names={names}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        {children}
        <FilterInstant name="from" label={text.from} />
        <FilterInstant name="to" label={text.to} />
        <Button
          variant="subtle"
          style={{ alignSelf: 'end' }}
          disabled={names.every((name) => query[name] === undefined)}
          onClick={() => change(Object.fromEntries(names.map((name) => [name, null])))}
        >
          {text.clear}
        </Button>
      </SimpleGrid>
    </FoldedFilters>
  );
}

interface FilterProps {
  /** Query parameter in the page address. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  /** Replaces the default, which changes only this parameter. */
  readonly onChange?: (value: string) => void;
}

interface FilterSelectProps extends Pick<FilterProps, 'name' | 'label'> {
  /** Label of the choice without a filter. */
  readonly all: string;
  readonly choices: { readonly [value: string]: string };
}

export function FilterSelect({ name, label, all, choices }: FilterSelectProps) {
  const [query, change] = usePlaceQuery();
  return (
    <NativeSelect
      label={label}
      value={query[name] ?? ''}
      onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}
      data={Object.entries({ '': all, ...choices }).map(([value, text]) => ({ value, label: text }))}
    />
  );
}

/** A filter applied on blur or Enter, to avoid a request for each letter. */
export function FilterText(props: FilterProps) {
  return <DraftInput {...props} type="search" toDraft={(value) => value} fromDraft={(draft) => draft.trim()} />;
}

/** A filter by an instant, entered in the display time zone. */
function FilterInstant(props: FilterProps) {
  const { zone, differs } = useTimezone();
  return (
    <DraftInput
      // Discards an unfinished input when the zone changes.
      key={zone}
      {...props}
      type="datetime-local"
      description={differs ? zone : undefined}
      toDraft={(value) => toLocalTime(value, zone)}
      fromDraft={(draft) => fromLocalTime(draft, zone)}
    />
  );
}

/** Filters are stored in the page address, which must not contain keys. */
export const looksSecret = (text: string): boolean => /\bsk-/.test(text);

/** A text that filters a list while the user types. It is in the page address, unless it looks like a key. */
export function usePlaceSearch(): [text: string, enter: (text: string) => void] {
  const [{ search = '' }, change] = usePlaceQuery();
  const [secret, setSecret] = useState('');
  const enter = (text: string): void => {
    const isSecret = looksSecret(text);
    setSecret(isSecret ? text : '');
    change({ search: isSecret ? null : text });
  };
  return [secret === '' ? search : secret, enter];
}

interface DraftInputProps extends FilterProps {
  readonly type: string;
  readonly description?: string | undefined;
  readonly toDraft: (value: string) => string;
  readonly fromDraft: (draft: string) => string;
}

function DraftInput({ name, onChange, type, toDraft, fromDraft, ...input }: DraftInputProps) {
  const text = useTexts(filterTexts);
  const [query, change] = usePlaceQuery();
  const value = query[name] ?? '';
  const [draft, setDraft] = useState(() => toDraft(value));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only an external change replaces the input
  useEffect(() => setDraft(toDraft(value)), [value]);
  const isSecret = looksSecret(draft);
  const commit = (): void => {
    const entered = fromDraft(draft);
    if (isSecret || entered === fromDraft(toDraft(value))) return;
    if (onChange === undefined) change({ [name]: entered });
    else onChange(entered);
  };
  return (
    <TextInput
      {...input}
      type={type}
      value={draft}
      error={isSecret ? text.secretInFilter : undefined}
      onChange={({ currentTarget }) => setDraft(currentTarget.value)}
      onBlur={commit}
      onKeyDown={({ key }) => key === 'Enter' && commit()}
    />
  );
}

interface DayFiltersProps {
  /** Replaces the default, which changes only the days. */
  readonly onChange?: (changed: Place['query']) => void;
}

/** Filters by first and last day in the billing time zone. */
export function DayFilters({ onChange }: DayFiltersProps) {
  const text = useTexts(commonTexts);
  const [query, change] = usePlaceQuery();
  return (['from', 'to'] as const).map((name) => (
    <CalendarField
      key={name}
      type="date"
      label={text[name]}
      value={query[name] ?? ''}
      isClearable
      onChange={(day) => (onChange ?? change)({ [name]: day })}
    />
  ));
}

/** Names the time zone of the day filters, if one is set. */
export function DaysHint({ textOf }: { readonly textOf: (timezone: string) => string }) {
  const { zones } = useTimezone();
  const [query] = usePlaceQuery();
  if (!isDay(query.from) && !isDay(query.to)) return null;
  return <DimmedText mb="xs">{textOf(zones.billing)}</DimmedText>;
}
