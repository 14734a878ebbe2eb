import { Group, Text } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { instantsOfDays, isDay } from '../../parts/days.ts';
import { FilterText, FoldedFilters } from '../../parts/filters.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { useOwnRefusalColumns } from './own-columns.tsx';
import { callsTexts } from './own-texts.ts';

/** What was refused, and why. */
export function Refusals() {
  const text = useTexts(callsTexts);
  const common = useTexts(commonTexts);
  const { billingTimezone } = useSession();
  const [query, change] = usePlaceQuery();
  const list = useList(
    'GET /account/v1/refusals',
    { query: { code: query.code, ...instantsOfDays(query, billingTimezone) } },
    { isLive: true },
  );
  return (
    <>
      <FoldedFilters names={['code', 'from', 'to']}>
        <Group align="flex-end" gap="sm" mb="md">
          <FilterText
            label={text.code}
            placeholder={text.codeHint}
            value={query.code ?? ''}
            onChange={(code) => change({ code })}
          />
          <CalendarField
            type="date"
            label={common.from}
            value={query.from ?? ''}
            isClearable
            onChange={(from) => change({ from })}
          />
          <CalendarField
            type="date"
            label={common.to}
            value={query.to ?? ''}
            isClearable
            onChange={(to) => change({ to })}
          />
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
        columns={useOwnRefusalColumns()}
        empty={<EmptyState title={text.noRefusals} hint={text.noRefusalsHint} />}
      />
    </>
  );
}
