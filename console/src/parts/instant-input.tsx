import { TextInput, type TextInputProps } from '@mantine/core';
import { defineTexts, useTexts } from '../text/language.tsx';
import { enteredNano } from '../text/yuan.ts';

const texts = defineTexts(
  {
    amount: 'An amount in yuan such as 12.50, with at most 9 decimals',
    whole: 'A whole number',
    noLimit: 'no limit',
  },
  { amount: '人民币金额，例如 12.50，最多 9 位小数', whole: '整数', noLimit: '不限' },
);

type FieldProps = Omit<TextInputProps, 'value' | 'onChange' | 'type'> & {
  readonly value: string;
  readonly onChange: (value: string) => void;
};

/** An amount in yuan, as decimal text; `isSigned`: also below zero. */
export function AmountInput({ value, onChange, isSigned = false, ...input }: FieldProps & { isSigned?: boolean }) {
  const text = useTexts(texts);
  return (
    <TextInput
      leftSection="¥"
      inputMode={isSigned ? 'text' : 'decimal'}
      autoComplete="off"
      pattern={`\\s*${isSigned ? '-?' : ''}[0-9]{1,9}([.][0-9]{1,9})?\\s*`}
      title={text.amount}
      {...input}
      error={value.trim() !== '' && enteredNano(value) === null ? text.amount : undefined}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** The largest number that limits may have. */
const COUNT_DIGITS_MAX = 9;

/** A whole number; empty: no limit. */
export function CountInput({ value, onChange, ...input }: FieldProps) {
  const text = useTexts(texts);
  return (
    <TextInput
      inputMode="numeric"
      autoComplete="off"
      pattern={`[0-9]{1,${COUNT_DIGITS_MAX}}`}
      title={text.whole}
      placeholder={input.required ? undefined : text.noLimit}
      {...input}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}

/** An instant in the time zone of the browser, as the input has it; `instantOf` makes it what the gateway takes. */
export function InstantInput({ value, onChange, ...input }: FieldProps) {
  return (
    <TextInput
      {...input}
      type="datetime-local"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** An amount that may be left empty, for the gateway. */
export function amountOrNull(value: string): string | null {
  return value.trim() === '' ? null : value.trim();
}

export function countOrNull(value: string): number | null {
  return value === '' ? null : Number(value);
}

/** What was entered of an instant, for the gateway; `null` where it is empty. */
export function instantOrNull(value: string): string | null {
  return value === '' ? null : new Date(value).toISOString();
}
