import { TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { isDay, isMonth } from './days.ts';

interface CalendarFieldProps extends Omit<TextInputProps, 'type' | 'value' | 'onChange'> {
  readonly type: 'date' | 'month';
  /** As `2026-11-23` or `2026-11`; empty: none. */
  readonly value: string;
  /** Called with what is a day or a month, and with nothing where `isClearable`. */
  readonly onChange: (value: string) => void;
  readonly isClearable?: boolean;
}

/** A field for a day or a month. While it is typed, the page stays at the last whole one: a year of one digit is none. */
export function CalendarField({ type, value, onChange, isClearable = false, ...rest }: CalendarFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const isWhole = type === 'date' ? isDay : isMonth;
  return (
    <TextInput
      {...rest}
      type={type}
      // Seen if the browser has no such field.
      placeholder={type === 'date' ? '2026-11-23' : '2026-11'}
      value={typed ?? value}
      onChange={({ currentTarget }) => {
        const next = currentTarget.value;
        const isTaken = isWhole(next) || (isClearable && next === '');
        setTyped(isTaken ? null : next);
        if (isTaken) onChange(next);
      }}
      onBlur={() => setTyped(null)}
    />
  );
}
