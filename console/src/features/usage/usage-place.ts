import { type DateRange, lastDays, rangeOf } from '../../parts/days.ts';
import type { Place } from '../../parts/location.ts';
import type { UsageMeasure } from '../../parts/usage/usage-parts.ts';

export const MEASURES: readonly UsageMeasure[] = ['charge', 'calls', 'tokens'];

export interface UsagePlace<Dimension> {
  readonly range: DateRange;
  readonly by: Dimension;
  readonly measure: UsageMeasure;
}

const DAYS_AT_FIRST = 30;

/** Reads the view from the address. Missing and invalid parameters have their defaults. `measure` is the parameter's value. */
export function usagePlaceOf<Dimension extends string>(
  query: Place['query'],
  measure: string | undefined,
  dimensions: readonly [Dimension, ...Dimension[]],
  today: string,
): UsagePlace<Dimension> {
  const first = lastDays(DAYS_AT_FIRST, today);
  return {
    range: rangeOf(query, first),
    by: dimensions.find((name) => name === query.by) ?? dimensions[0],
    measure: MEASURES.find((name) => name === measure) ?? 'charge',
  };
}
