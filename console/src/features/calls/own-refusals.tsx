import { Group, Text } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import type { OwnRefusal } from '../../api/types.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { useRefusalColumns } from '../../parts/calls/refusal-columns.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { instantsOfDays, isDay } from '../../parts/days.ts';
import { FilterText, FoldedFilters } from '../../parts/filters.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { KeyAndPersonFilters } from './own-filters.tsx';
import { callsTexts } from './own-texts.ts';

/** What was refused, and why. */
export function Refusals() {
  const text = useTexts(callsTexts);
  const { billingTimezone } = useSession();
  const [query, change] = usePlaceQuery();
  const { keyId, userId, model, code } = query;
  const input = { query: { keyId, userId, model, code, ...instantsOfDays(query, billingTimezone) } };
  const list = useList('GET /account/v1/refusals', input, { isLive: true });
  return (
    <>
      <FoldedFilters names={['keyId', 'userId', 'model', 'code', 'from', 'to']}>
        <Group align="flex-end" gap="sm" mb="md">
          <KeyAndPersonFilters query={query} onChange={change} />
          <FilterText
            label={text.reason}
            placeholder={text.codeHint}
            value={query.code ?? ''}
            onChange={(code) => change({ code })}
          />
          <CalendarField
            type="date"
            label={text.from}
            value={query.from ?? ''}
            isClearable
            onChange={(from) => change({ from })}
          />
          <CalendarField
            type="date"
            label={text.to}
            value={query.to ?? ''}
            isClearable
            onChange={(to) => change({ to })}
          />
          <CsvButton endpoint="GET /account/v1/refusals" input={input} fileName="refusals.csv" />
        </Group>
      </FoldedFilters>
      {(isDay(query.from) || isDay(query.to)) && (
        <Text size="sm" c="dimmed" mb="xs">
          {text.refusedOnDaysOf(billingTimezone)}
        </Text>
      )}
      <ListTable
        label={text.refused}
        list={list}
        idOf={({ id }) => id}
        columns={useRefusalColumns<OwnRefusal>()}
        empty={<EmptyState title={text.noRefusals} hint={text.noRefusalsHint} />}
      />
    </>
  );
}
