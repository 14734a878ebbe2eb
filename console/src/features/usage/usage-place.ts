import { type DateRange, isDay, lastDays } from '../../parts/days.ts';
import type { Place } from '../../parts/location.tsx';
import type { UsageMeasure } from '../../parts/usage/usage-parts.ts';

export const GROUPINGS = ['model', 'provider', 'account', 'day', 'status'] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const MEASURES: readonly UsageMeasure[] = ['charge', 'calls', 'tokens'];
export const FILTERS = ['accountId', 'model', 'provider'] as const;

/** What the page shows, by its address. */
export interface UsagePlace {
  readonly range: DateRange;
  readonly by: Grouping;
  readonly measure: UsageMeasure;
  readonly filter: { readonly [Name in (typeof FILTERS)[number]]?: string };
}

const DAYS_AT_FIRST = 30;

/** Reads what is shown from the address; what it does not say, or says wrongly, is as at first. */
export function usagePlaceOf(query: Place['query'], today: string): UsagePlace {
  const first = lastDays(DAYS_AT_FIRST, today);
  return {
    range: { from: isDay(query.from) ? query.from : first.from, to: isDay(query.to) ? query.to : first.to },
    by: GROUPINGS.find((name) => name === query.by) ?? 'model',
    measure: MEASURES.find((name) => name === query.measure) ?? 'charge',
    filter: Object.fromEntries(FILTERS.filter((name) => query[name] !== undefined).map((name) => [name, query[name]])),
  };
}
