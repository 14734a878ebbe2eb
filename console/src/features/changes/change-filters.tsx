import { Button, NativeSelect, SimpleGrid } from '@mantine/core';
import type { QueryOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import { FilterInstant, FilterText, FoldedFilters } from '../../parts/filters.tsx';
import type { Place } from '../../parts/location.tsx';
import { AccountPicker, KeyPicker, UserPicker } from '../../parts/picker.tsx';
import { useTexts } from '../../text/language.tsx';
import { changesTexts } from './texts.ts';

type Filter = QueryOf<'GET /admin/v1/changes'>;
type ActorKind = NonNullable<Filter['actorKind']>;

const NAMES = ['actorKind', 'actorId', 'action', 'subjectId', 'accountId', 'from', 'to'] as const;

/** What the list is asked for, by the address of the page. */
export function filterOf(query: Place['query']): Filter {
  return Object.fromEntries(NAMES.filter((name) => query[name] !== undefined).map((name) => [name, query[name]]));
}

interface ChangeFiltersProps {
  readonly query: Place['query'];
  readonly onChange: (changed: { readonly [name: string]: string | null }) => void;
}

export function ChangeFilters({ query, onChange }: ChangeFiltersProps) {
  const text = useTexts(changesTexts);
  const tokens = useRead('GET /admin/v1/tokens', { query: { limit: 500 } }).data?.data ?? [];
  const isKey = query.subjectId?.startsWith('key_') ?? false;
  const field = (name: (typeof NAMES)[number]) => ({
    value: query[name] ?? '',
    onChange: (value: string) => onChange({ [name]: value }),
  });
  return (
    <FoldedFilters names={NAMES}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        <NativeSelect
          label={text.actorKind}
          value={query.actorKind ?? ''}
          onChange={({ currentTarget }) => onChange({ actorKind: currentTarget.value })}
          data={[
            { value: '', label: text.allKinds },
            ...Object.entries(text.kinds).map(([value, label]) => ({ value: value as ActorKind, label })),
          ]}
        />
        <UserPicker
          label={text.actor}
          value={query.actorId}
          onChange={(actorId) => onChange({ actorId })}
          more={tokens.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <FilterText label={text.action} placeholder={text.actionHint} {...field('action')} />
        <AccountPicker value={query.accountId} onChange={(accountId) => onChange({ accountId })} />
        <KeyPicker
          label={text.subjectKey}
          value={isKey ? query.subjectId : undefined}
          onChange={(subjectId) => onChange({ subjectId })}
          accountId={query.accountId}
        />
        <FilterText label={text.subjectId} placeholder={text.subjectHint} {...field('subjectId')} />
        <FilterInstant label={text.from} {...field('from')} />
        <FilterInstant label={text.to} {...field('to')} />
        <Button
          variant="subtle"
          style={{ alignSelf: 'end' }}
          disabled={NAMES.every((name) => query[name] === undefined)}
          onClick={() => onChange(Object.fromEntries(NAMES.map((name) => [name, null])))}
        >
          {text.clear}
        </Button>
      </SimpleGrid>
    </FoldedFilters>
  );
}
