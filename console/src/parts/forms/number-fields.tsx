import { TextInput, type TextInputProps } from '@mantine/core';
import { defineTexts, useTexts } from '../../text/language.tsx';
import { isCount, isYuan } from './number-text.ts';

const texts = defineTexts(
  {
    yuan: 'An amount such as 100 or 0.5, with at most 9 decimals',
    count: (min: string) => `A whole number from ${min} on`,
  },
  { yuan: '请输入金额，如 100 或 0.5，最多 9 位小数', count: (min: string) => `请输入不小于 ${min} 的整数` },
);

export interface EnteredFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'error' | 'type'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** An amount in yuan, as text to avoid rounding. `isSigned` allows negative amounts. */
export function YuanField({
  value,
  onChange,
  isSigned = false,
  ...input
}: EnteredFieldProps & { readonly isSigned?: boolean }) {
  const text = useTexts(texts);
  const isRight = isYuan(isSigned ? value.replace(/^-/, '') : value);
  return (
    <TextInput
      {...input}
      inputMode={isSigned ? 'text' : 'decimal'}
      autoComplete="off"
      leftSection="¥"
      pattern={`${isSigned ? '-?' : ''}[0-9]{1,9}([.][0-9]{1,9})?`}
      title={text.yuan}
      value={value}
      error={value !== '' && !isRight && text.yuan}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}

export function CountField({ value, onChange, min = 0, ...input }: EnteredFieldProps & { readonly min?: number }) {
  const text = useTexts(texts);
  return (
    <TextInput
      {...input}
      inputMode="numeric"
      autoComplete="off"
      pattern="[0-9]{1,10}"
      title={text.count(String(min))}
      value={value}
      error={value !== '' && !isCount(value, min) && text.count(String(min))}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}
