import { ActionIcon, Button, Group, Stack, TextInput } from '@mantine/core';
import { PlusIcon, XIcon } from '@primer/octicons-react';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../../text/language.tsx';
import type { Fields } from './catalog-value.ts';
import { catalogTexts } from './texts.ts';

interface KeyedRowsProps {
  readonly table: Fields;
  readonly onChange: (table: Fields) => void;
  /** The name of the table, for the labels of its rows. */
  readonly title: string;
  readonly keyLabel: string;
  /** Pattern of the keys. */
  readonly keyPattern?: string;
  readonly keyHint?: string;
  readonly newValue: () => unknown;
  readonly children: (value: unknown, change: (value: unknown) => void) => ReactNode;
}

interface Row {
  readonly id: number;
  readonly key: string;
  readonly value: unknown;
}

/** The entries of a table whose keys the operator chooses, such as prices by input length. While a key is typed, its row stays in its place. */
export function KeyedRows({ table, onChange, title, newValue, children, ...keys }: KeyedRowsProps) {
  const text = useTexts(catalogTexts);
  const [rows, setRows] = useState<readonly Row[]>(() =>
    Object.entries(table).map(([key, value], id) => ({ id, key, value })),
  );
  const set = (next: readonly Row[]): void => {
    setRows(next);
    onChange(Object.fromEntries(next.map(({ key, value }) => [key, value])));
  };
  const change = (id: number, changed: Partial<Row>): void =>
    set(rows.map((row) => (row.id === id ? { ...row, ...changed } : row)));
  return (
    <Stack gap="sm">
      {rows.map(({ id, key, value }, at) => (
        <Group key={id} gap="xs" align="flex-end" role="group" aria-label={text.rowOf(title, String(at + 1))}>
          <KeyField
            {...keys}
            value={key}
            isTaken={rows.some((other) => other.id !== id && other.key === key)}
            onChange={(next) => change(id, { key: next })}
          />
          {children(value, (next) => change(id, { value: next }))}
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={text.removeRow(title, String(at + 1))}
            onClick={() => set(rows.filter((row) => row.id !== id))}
          >
            <XIcon />
          </ActionIcon>
        </Group>
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<PlusIcon />}
        onClick={() =>
          set([...rows, { id: Math.max(-1, ...rows.map((row) => row.id)) + 1, key: '', value: newValue() }])
        }
        style={{ alignSelf: 'flex-start' }}
      >
        {text.addRow(title)}
      </Button>
    </Stack>
  );
}

interface KeyFieldProps extends Pick<KeyedRowsProps, 'keyLabel' | 'keyPattern' | 'keyHint'> {
  readonly value: string;
  readonly isTaken: boolean;
  readonly onChange: (key: string) => void;
}

function KeyField({ keyLabel, keyPattern, keyHint, value, isTaken, onChange }: KeyFieldProps) {
  const text = useTexts(catalogTexts);
  return (
    <TextInput
      // The browser then refuses to submit the form: of two equal keys, one would be lost.
      ref={(input) => input?.setCustomValidity(isTaken ? text.keyTaken : '')}
      label={keyLabel}
      required
      pattern={keyPattern}
      title={keyHint}
      value={value}
      error={isTaken && value !== '' && text.keyTaken}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
      autoComplete="off"
      spellCheck={false}
      style={{ flex: '1 1 130px' }}
    />
  );
}
