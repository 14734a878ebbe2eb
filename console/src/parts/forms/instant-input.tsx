import { TextInput } from '@mantine/core';
import { useTimezone } from '../../text/timezone.tsx';
import type { EnteredFieldProps } from './number-fields.tsx';

/** An instant in the time zone in which instants are shown, as the input has it; `fromLocalTime` makes it what the gateway takes. */
export function InstantInput({ value, onChange, description, ...input }: EnteredFieldProps) {
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
