import { Group, SegmentedControl } from '@mantine/core';
import { useTexts } from '../text/language.tsx';
import { CalendarField } from './calendar-field.tsx';
import { type DateRange, lastDays } from './days.ts';
import { commonTexts } from './texts.ts';

const CHOICES = [1, 7, 30, 90] as const;

interface DateRangePickerProps {
  readonly value: DateRange;
  readonly onChange: (range: DateRange) => void;
  /** In the billing time zone. */
  readonly today: string;
}

export function DateRangePicker({ value, onChange, today }: DateRangePickerProps) {
  const text = useTexts(commonTexts);
  const chosen = CHOICES.find((count) => {
    const range = lastDays(count, today);
    return range.from === value.from && range.to === value.to;
  });
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        value={String(chosen ?? '')}
        onChange={(count) => onChange(lastDays(Number(count), today))}
        data={CHOICES.map((count) => ({
          value: String(count),
          label: count === 1 ? text.today : text.lastDays(count),
        }))}
      />
      <CalendarField
        type="date"
        label={text.from}
        value={value.from}
        max={value.to}
        onChange={(from) => onChange({ ...value, from })}
      />
      <CalendarField
        type="date"
        label={text.to}
        value={value.to}
        min={value.from}
        onChange={(to) => onChange({ ...value, to })}
      />
    </Group>
  );
}
