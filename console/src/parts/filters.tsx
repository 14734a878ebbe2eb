import { Button, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { FilterIcon } from '@primer/octicons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { defineTexts, useTexts } from '../text/language.tsx';
import { usePlaceQuery } from './location.tsx';
import { useIsPhone } from './use-is-phone.ts';

const texts = defineTexts(
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
  const text = useTexts(texts);
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

/** An instant, entered in the time zone of the browser. */
export function FilterInstant(props: FilterProps) {
  return <DraftInput {...props} type="datetime-local" toDraft={toLocalInput} fromDraft={fromLocalInput} />;
}

/** What filters a list stands in addresses, where no key belongs. */
const SECRET = /\bsk-/;

interface DraftInputProps extends FilterProps {
  readonly type: string;
  readonly toDraft: (value: string) => string;
  readonly fromDraft: (draft: string) => string;
}

function DraftInput({ value, onChange, type, toDraft, fromDraft, ...input }: DraftInputProps) {
  const text = useTexts(texts);
  const [draft, setDraft] = useState(() => toDraft(value));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a value from elsewhere replaces what is being entered
  useEffect(() => setDraft(toDraft(value)), [value]);
  const isSecret = SECRET.test(draft);
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

/** `2026-11-23T08:00` of the browser's time zone, as inputs want it. */
function toLocalInput(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromLocalInput(local: string): string {
  const at = new Date(local);
  return local === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
