import { Button, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { FilterIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { defineTexts, useTexts } from '../text/language.tsx';
import { fromLocalTime, toLocalTime } from '../text/local-time.ts';
import { useTimezone } from '../text/timezone.tsx';
import { usePlaceQuery } from './location.tsx';
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

interface FilterProps {
  readonly label: string;
  /** What is filtered by; empty if nothing is. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
}

/** A filter that takes effect when somebody leaves the field or presses Enter, so that a list is not read for each letter. */
export function FilterText(props: FilterProps) {
  return <DraftInput {...props} type="search" toDraft={(value) => value} fromDraft={(draft) => draft.trim()} />;
}

/** An instant, entered in the time zone in which instants are shown. */
export function FilterInstant(props: FilterProps) {
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

function DraftInput({ value, onChange, type, toDraft, fromDraft, ...input }: DraftInputProps) {
  const text = useTexts(filterTexts);
  const [draft, setDraft] = useState(() => toDraft(value));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a value from elsewhere replaces what is being entered
  useEffect(() => setDraft(toDraft(value)), [value]);
  const isSecret = looksSecret(draft);
  const commit = (): void => {
    const entered = fromDraft(draft);
    if (!isSecret && entered !== fromDraft(toDraft(value))) onChange(entered);
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
