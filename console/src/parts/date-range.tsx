import { Group, SegmentedControl, TextInput } from '@mantine/core';
import { useTexts } from '../text/language.tsx';
import { commonTexts } from './texts.ts';

/** Days of the billing time zone, both included, as `2026-11-23`. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;
const CHOICES = [1, 7, 30, 90] as const;

/** The last days up to today, today included; `nowMs` by the clock of the browser. */
export function lastDays(count: number, timezone: string | undefined, nowMs: number): DateRange {
  return { from: dayIn(timezone, nowMs - (count - 1) * DAY_MS), to: dayIn(timezone, nowMs) };
}

/** The day of an instant in a time zone; in that of the browser where none is known. */
export function dayIn(timezone: string | undefined, ms: number): string {
  return new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    ...(timezone === undefined ? {} : { timeZone: timezone }),
  }).format(ms);
}

/** The day behind a day: sums of usage end before it. */
export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
}

/** The range as the sums of usage take it: their `to` is the first day behind it. */
export function usageRange({ from, to }: DateRange): { readonly from: string; readonly to: string } {
  return { from, to: dayAfter(to) };
}

interface DateRangePickerProps {
  readonly value: DateRange;
  readonly onChange: (range: DateRange) => void;
  readonly timezone?: string | undefined;
}

/** Chooses days: some last ones, or from one to another. */
export function DateRangePicker({ value, onChange, timezone }: DateRangePickerProps) {
  const text = useTexts(commonTexts);
  const nowMs = Date.now();
  const chosen = CHOICES.find((count) => {
    const range = lastDays(count, timezone, nowMs);
    return range.from === value.from && range.to === value.to;
  });
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        value={String(chosen ?? '')}
        onChange={(count) => onChange(lastDays(Number(count), timezone, nowMs))}
        data={CHOICES.map((count) => ({
          value: String(count),
          label: count === 1 ? text.today : text.lastDays(count),
        }))}
      />
      <TextInput
        type="date"
        label={text.from}
        value={value.from}
        max={value.to}
        onChange={({ currentTarget }) =>
          currentTarget.value !== '' && onChange({ ...value, from: currentTarget.value })
        }
      />
      <TextInput
        type="date"
        label={text.to}
        value={value.to}
        min={value.from}
        onChange={({ currentTarget }) => currentTarget.value !== '' && onChange({ ...value, to: currentTarget.value })}
      />
    </Group>
  );
}
