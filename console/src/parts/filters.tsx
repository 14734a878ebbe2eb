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

/** Said of filters, and of a secret in a field of what stands in addresses. */
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
  /** What the filters are called in the address of the page. */
  readonly names: readonly string[];
  readonly children: ReactNode;
}

/** The filters of a page. On a phone they are folded away behind a button that says how many are in force. */
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

/** The filters of a list of operators: its own, those by time, and a button that takes all away. */
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
  /** What the filter is called in the address of the page. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  /** Changes the address, where more than this filter has to change. */
  readonly onChange?: (value: string) => void;
}

interface FilterSelectProps extends Pick<FilterProps, 'name' | 'label'> {
  /** What the choice of all is called. */
  readonly all: string;
  /** The words for what may be chosen. */
  readonly choices: { readonly [value: string]: string };
}

/** A filter by one of a few values. */
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

/** A filter that takes effect when somebody leaves the field or presses Enter, so that a list is not read for each letter. */
export function FilterText(props: FilterProps) {
  return <DraftInput {...props} type="search" toDraft={(value) => value} fromDraft={(draft) => draft.trim()} />;
}

/** An instant, entered in the time zone in which instants are shown. */
function FilterInstant(props: FilterProps) {
  const { zone, differs } = useTimezone();
  return (
    <DraftInput
      // What is being entered is of one zone.
      key={zone}
      {...props}
      type="datetime-local"
      description={differs ? zone : undefined}
      toDraft={(value) => toLocalTime(value, zone)}
      fromDraft={(draft) => fromLocalTime(draft, zone)}
    />
  );
}

/** What filters a list stands in addresses, where no key belongs. */
export const looksSecret = (text: string): boolean => /\bsk-/.test(text);

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
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a value from elsewhere replaces what is being entered
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
  /** Changes the address, where more than the days has to change. */
  readonly onChange?: (changed: Place['query']) => void;
}

/** Filters by the first and the last day, of the billing zone. */
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

/** Says of which zone the days are that a list is filtered by. Nothing if it is not. */
export function DaysHint({ textOf }: { readonly textOf: (timezone: string) => string }) {
  const { zones } = useTimezone();
  const [query] = usePlaceQuery();
  if (!isDay(query.from) && !isDay(query.to)) return null;
  return <DimmedText mb="xs">{textOf(zones.billing)}</DimmedText>;
}
