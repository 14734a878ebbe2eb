import { TextInput, type TextInputProps } from '@mantine/core';
import { useTimezone } from '../../text/timezone.tsx';

interface InstantInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'type'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** An instant in the time zone in which instants are shown, as the input has it; `fromLocalTime` makes it what the gateway takes. */
export function InstantInput({ value, onChange, description, ...input }: InstantInputProps) {
  const { zone, differs } = useTimezone();
  return (
    <TextInput
      {...input}
      description={differs ? [description, zone].filter(Boolean).join(' · ') : description}
      type="datetime-local"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
