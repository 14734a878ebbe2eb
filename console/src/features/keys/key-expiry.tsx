import { NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import { dayAfter, dayIn, dayStart, isDay } from '../../parts/days.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { keysTexts } from './texts.ts';

/** The chosen expiry: none, after some days, at the end of a date, or as the replaced key. */
export interface Expiry {
  readonly choice: 'never' | 'same' | 'date' | `${number}`;
  /** `2026-12-31` in the billing time zone, if the choice is a date. */
  readonly date: string;
}

export const NO_EXPIRY: Expiry = { choice: 'never', date: '' };
export const SAME_EXPIRY: Expiry = { choice: 'same', date: '' };
const DAYS = ['7', '30', '90', '365'] as const;
const DAY_MS = 86_400_000;

/** The instant of an expiry, `null` for none, `undefined` if the date is missing. `same`: the expiry of the replaced key. */
export function expiresAtOf({ choice, date }: Expiry, timezone: string, nowMs: number, same: string | null = null) {
  if (choice === 'never') return null;
  if (choice === 'same') return same;
  if (choice !== 'date') return new Date(nowMs + Number(choice) * DAY_MS).toISOString();
  return isDay(date) ? dayStart(dayAfter(date), timezone) : undefined;
}

interface ExpiryFieldProps {
  readonly label?: string;
  readonly value: Expiry;
  readonly onChange: (value: Expiry) => void;
  /** Offers the expiry of the replaced key. */
  readonly hasSame?: boolean;
}

export function ExpiryField({ label, value, onChange, hasSame = false }: ExpiryFieldProps) {
  const text = useTexts(keysTexts);
  const { zones, differs } = useTimezone();
  return (
    <SimpleGrid cols={{ base: 1, xs: value.choice === 'date' ? 2 : 1 }} spacing="sm">
      <NativeSelect
        label={label ?? text.expires}
        value={value.choice}
        onChange={({ currentTarget }) => onChange({ ...value, choice: currentTarget.value as Expiry['choice'] })}
        data={[
          ...(hasSame ? [{ value: 'same', label: text.expiresSame }] : []),
          { value: 'never', label: text.expiresNever },
          ...DAYS.map((days) => ({ value: days, label: text.expiresInDays(days) })),
          { value: 'date', label: text.expiresOn },
        ]}
      />
      {value.choice === 'date' && (
        <TextInput
          label={text.expiryDate}
          description={differs ? zones.billing : undefined}
          type="date"
          required
          min={dayIn(zones.billing, Date.now())}
          value={value.date}
          onChange={({ currentTarget }) => onChange({ ...value, date: currentTarget.value })}
        />
      )}
    </SimpleGrid>
  );
}
