import { useTexts } from '../../text/language.tsx';
import { FilterText } from '../filters.tsx';
import { callerTexts } from './caller-texts.ts';

/** Filters of calls by facts about their callers, as query parameters. */
export const CALLER_FILTERS = ['endUser', 'tag', 'program', 'clientAddress'] as const;

interface CallerFiltersProps {
  /** Replaces the default, which changes only the filter's parameter. */
  readonly onChange?: (changed: { readonly [name: string]: string | null }) => void;
}

export function CallerFilters({ onChange }: CallerFiltersProps) {
  const text = useTexts(callerTexts);
  return CALLER_FILTERS.map((name) => (
    <FilterText
      key={name}
      name={name}
      label={text[name]}
      {...(onChange && { onChange: (value: string) => onChange({ [name]: value === '' ? null : value }) })}
    />
  ));
}
