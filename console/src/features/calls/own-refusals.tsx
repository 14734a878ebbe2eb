import { Group } from '@mantine/core';
import { useList } from '../../api/queries.ts';
import type { OwnRefusal } from '../../api/types.ts';
import { useRefusalColumns } from '../../parts/calls/refusal-columns.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { instantsOfDays } from '../../parts/days.ts';
import { DayFilters, DaysHint, FilterText, FoldedFilters } from '../../parts/filters.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { KeyAndPersonFilters } from './own-filters.tsx';
import { callsTexts } from './own-texts.ts';

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
          <FilterText name="code" label={text.reason} placeholder={text.codeHint} />
          <DayFilters />
          <CsvButton endpoint="GET /account/v1/refusals" input={input} fileName="refusals.csv" />
        </Group>
      </FoldedFilters>
      <DaysHint textOf={text.refusedOnDaysOf} />
      <ListTable
        label={text.refused}
        isInPlace
        list={list}
        columns={useRefusalColumns<OwnRefusal>()}
        empty={<EmptyState title={text.noRefusals} hint={text.noRefusalsHint} />}
      />
    </>
  );
}
