import { MultiSelect, NativeSelect, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../../text/language.tsx';
import { basisPointsOf, percentOf } from '../basis-points.ts';
import { CountField, YuanField } from '../forms/number-fields.tsx';
import { textOf, textsOf } from './catalog-value.ts';
import { numberOrText, withValueAt } from './edits.ts';
import { catalogTexts } from './texts.ts';
import { type Entry, memberAt } from './use-entry.ts';

/** A field of a form, and the setting that it shows and changes. */
export interface SettingField {
  /** Its path in the entry, such as `limits.requestsPerMinute`. */
  readonly setting: string;
  readonly label: string;
  readonly description?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  /**
   * - `number`: a whole number, or text such as `8MiB`
   * - `count`: a whole number
   * - `percent`: a percentage, stored in basis points
   * - `names`: a list, with `options` of those only
   * - `choice`: one of `options`, or none
   */
  readonly kind?: 'text' | 'url' | 'number' | 'count' | 'yuan' | 'percent' | 'names' | 'choice';
  readonly options?: readonly (string | { readonly value: string; readonly label: string })[];
}

interface SettingFieldsProps {
  /** An entry, or a part of one. */
  readonly entry: Pick<Entry, 'value' | 'replace'>;
  readonly fields: readonly SettingField[];
  readonly columns?: number;
  /** Before the fields. */
  readonly children?: ReactNode;
}

/** The fields of settings that a form describes. */
export function SettingFields({ entry, fields, columns = 2, children }: SettingFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: columns }} spacing="sm" style={{ alignItems: 'end' }}>
      {children}
      {fields.map((field) => (
        <Field key={field.setting} entry={entry} {...field} />
      ))}
    </SimpleGrid>
  );
}

function Field({
  entry,
  setting,
  kind = 'text',
  options,
  isRequired = false,
  ...labels
}: SettingField & Pick<SettingFieldsProps, 'entry'>) {
  const text = useTexts(catalogTexts);
  const stored = memberAt(entry.value, setting);
  const change = (value: unknown): void => entry.replace(withValueAt(entry.value, setting.split('.'), value));
  const changeNumber = (entered: string): void => change(numberOrText(entered));
  const props = { ...labels, required: isRequired, value: textOf(stored), autoComplete: 'off' };
  switch (kind) {
    case 'count':
      return <CountField {...props} onChange={changeNumber} />;
    case 'yuan':
      return <YuanField {...props} onChange={change} />;
    case 'percent':
      return <PercentField {...labels} value={textOf(stored)} onChange={change} />;
    case 'names': {
      const value = textsOf(stored);
      const { placeholder, ...others } = labels;
      const names = {
        ...others,
        withAsterisk: isRequired,
        value,
        onChange: (chosen: string[]) => change(chosen),
        placeholder: value.length === 0 ? (placeholder ?? '') : '',
      };
      if (options === undefined) return <TagsInput {...names} acceptValueOnBlur />;
      const known = options.map((option) => (typeof option === 'string' ? { value: option, label: option } : option));
      const unknown = value.filter((name) => known.every((option) => option.value !== name));
      return (
        <MultiSelect
          {...names}
          data={[...known, ...unknown.map((name) => ({ value: name, label: name }))]}
          searchable
          clearable={!isRequired}
          hidePickedOptions
        />
      );
    }
    case 'choice':
      return (
        <NativeSelect
          {...props}
          onChange={({ currentTarget }) => change(currentTarget.value)}
          data={[...(isRequired ? [] : [{ value: '', label: text.byDefault }]), ...(options ?? [])]}
        />
      );
    default:
      return (
        <TextInput
          {...props}
          type={kind === 'url' ? 'url' : 'text'}
          spellCheck={false}
          onChange={({ currentTarget: { value } }) => (kind === 'number' ? changeNumber(value.trim()) : change(value))}
        />
      );
  }
}

interface PercentFieldProps extends Pick<SettingField, 'label' | 'description' | 'placeholder'> {
  /** In basis points, as text. */
  readonly value: string;
  readonly onChange: (basisPoints: number | string) => void;
}

function PercentField({ value, onChange, ...labels }: PercentFieldProps) {
  const text = useTexts(catalogTexts);
  // While it is typed, such as "80.", it is no percentage.
  const [first] = useState(/^\d+$/.test(value) ? percentOf(Number(value)) : value);
  const [entered, setEntered] = useState(first);
  const isRight = entered === '' || entered === first || isPercentage(entered);
  return (
    <TextInput
      {...labels}
      ref={(input) => input?.setCustomValidity(isRight ? '' : text.percentageWrong)}
      rightSection="%"
      inputMode="decimal"
      autoComplete="off"
      value={entered}
      error={!isRight && text.percentageWrong}
      onChange={({ currentTarget }) => {
        const next = currentTarget.value.trim();
        setEntered(next);
        onChange(isPercentage(next) ? basisPointsOf(next) : next);
      }}
    />
  );
}

/** Whether basis points can express the text. */
function isPercentage(text: string): boolean {
  return /^\d{1,4}(?:\.\d{1,2})?$/.test(text);
}
