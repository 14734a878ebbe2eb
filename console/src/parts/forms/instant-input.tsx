import { TextInput, type TextInputProps } from '@mantine/core';

interface InstantInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'type'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** An instant in the time zone of the browser, as the input has it; `instantOrNull` makes it what the gateway takes. */
export function InstantInput({ value, onChange, ...input }: InstantInputProps) {
  return (
    <TextInput
      {...input}
      type="datetime-local"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** What was entered of an instant, for the gateway; `null` if it is empty. */
export function instantOrNull(value: string): string | null {
  return value === '' ? null : new Date(value).toISOString();
}
