import { useRead } from '../../api/queries.ts';
import { FilterGrid, FilterSelect, FilterText } from '../../parts/filters.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { AccountPicker, KeyPicker, UserPicker } from '../../parts/picker.tsx';
import { useTexts } from '../../text/language.tsx';
import { changesTexts } from './texts.ts';

/** Query parameters of the filters in the page address. */
export const CHANGE_FILTERS = ['actorKind', 'actorId', 'action', 'subjectId', 'accountId', 'from', 'to'] as const;

export function ChangeFilters() {
  const text = useTexts(changesTexts);
  const [query, change] = usePlaceQuery();
  const tokens = useRead('GET /admin/v1/tokens', { query: { limit: 500 } }).data?.data ?? [];
  const isKey = query.subjectId?.startsWith('key_') ?? false;
  return (
    <FilterGrid names={CHANGE_FILTERS}>
      <FilterSelect name="actorKind" label={text.actorKind} all={text.allKinds} choices={text.kinds} />
      <UserPicker
        label={text.who}
        value={query.actorId}
        onChange={(actorId) => change({ actorId })}
        more={tokens.map(({ id, name }) => ({ value: id, label: name }))}
      />
      <FilterText name="action" label={text.action} placeholder={text.actionHint} />
      <AccountPicker value={query.accountId} onChange={(accountId) => change({ accountId })} />
      <KeyPicker
        label={text.subjectKey}
        value={isKey ? query.subjectId : undefined}
        onChange={(subjectId) => change({ subjectId })}
        accountId={query.accountId}
      />
      <FilterText name="subjectId" label={text.subjectId} placeholder={text.subjectHint} />
    </FilterGrid>
  );
}
