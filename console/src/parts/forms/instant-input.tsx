import { TextInput } from '@mantine/core';
import { useTimezone } from '../../text/timezone.tsx';
import type { EnteredFieldProps } from './number-fields.tsx';

/** A date and time in the display time zone. `fromLocalTime` converts it for the gateway. */
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
