import { SegmentedControl } from '@mantine/core';
import { DimmedText } from '../../parts/small.ts';
import type { UsageMeasure } from '../../parts/usage/usage-parts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { usageTexts } from './texts.ts';
import { MEASURES } from './usage-place.ts';

interface MeasurePickerProps {
  readonly value: UsageMeasure;
  readonly onChange: (measure: string) => void;
  readonly labels: Readonly<Record<UsageMeasure, string>>;
}

export function MeasurePicker({ value, onChange, labels }: MeasurePickerProps) {
  const text = useTexts(usageTexts);
  return (
    <SegmentedControl
      aria-label={text.measure}
      data={MEASURES.map((each) => ({ value: each, label: labels[each] }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The time up to which the sums are complete; `null` while older calls are still being added. */
export function Completeness({ until }: { readonly until: string | null }) {
  const text = useTexts(usageTexts);
  const format = useFormat();
  return <DimmedText>{until === null ? text.summing : text.completeUntil(format.instant(until))}</DimmedText>;
}
