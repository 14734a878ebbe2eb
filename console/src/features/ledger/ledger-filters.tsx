import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { instantsOfDays } from '../../parts/days.ts';
import { DayFilters, DaysHint, FilterSelect } from '../../parts/filters.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { ledgerTexts } from './texts.ts';

const KINDS = ['top_up', 'charge', 'refund', 'adjustment'] as const;

/** The ledger filter in the page address, and whether it restricts the list. */
export function useLedgerFilter() {
  const { billingTimezone } = useSession();
  const [query] = usePlaceQuery();
  const filter = { kind: KINDS.find((kind) => kind === query.kind), ...instantsOfDays(query, billingTimezone) };
  return { filter, isFiltered: Object.values(filter).some((value) => value !== undefined) };
}

/** Filters by kind and by days of the billing time zone, followed by `children`. */
export function LedgerFilters({ children }: { readonly children: ReactNode }) {
  const text = useTexts(ledgerTexts);
  const kinds = useTexts(ledgerKindTexts);
  return (
    <>
      <Group align="flex-end" gap="sm" mb="md">
        <FilterSelect name="kind" label={text.kind} all={text.all} choices={kinds} />
        <DayFilters />
        {children}
      </Group>
      <DaysHint textOf={text.daysOf} />
    </>
  );
}
