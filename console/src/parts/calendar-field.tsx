import { TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { isDay, isMonth } from './days.ts';

interface CalendarFieldProps extends Omit<TextInputProps, 'type' | 'value' | 'onChange'> {
  readonly type: 'date' | 'month';
  /** Such as `2026-11-23` or `2026-11`; empty for none. */
  readonly value: string;
  /** Called with valid days or months, and with an empty text if `isClearable`. */
  readonly onChange: (value: string) => void;
  readonly isClearable?: boolean;
}

/** A field for a day or a month. Incomplete input, such as a year of one digit, is not reported. */
export function CalendarField({ type, value, onChange, isClearable = false, ...rest }: CalendarFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const isWhole = type === 'date' ? isDay : isMonth;
  return (
    <TextInput
      {...rest}
      type={type}
      // Visible in browsers without date inputs.
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
