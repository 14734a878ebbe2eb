import { Badge, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type ItemOf, useList } from '../../api/queries.ts';
import type { Change } from '../../api/types.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { Instant } from '../../parts/figures.tsx';
import { AccountLink, CallLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { chosenOf, usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton, SmallText } from '../../parts/small.ts';
import { useLanguage, useTexts } from '../../text/language.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { CHANGE_FILTERS, ChangeFilters } from './change-filters.tsx';
import { isAltered, sharedFieldsOf } from './difference.ts';
import { useFieldWriter } from './field-writer.ts';
import { changesTexts } from './texts.ts';

export function ChangesPage() {
  const text = useTexts(changesTexts);
  const { language } = useLanguage();
  const [query] = usePlaceQuery();
  const [shown, setShown] = useState<Change | null>(null);
  const input = { query: chosenOf(query, CHANGE_FILTERS) };
  const list = useList('GET /admin/v1/changes', input);
  return (
    <Page
      lead={text.lead}
      actions={<CsvButton endpoint="GET /admin/v1/changes" input={input} fileName="changes.csv" />}
    >
      <Section>
        <Stack>
          <ChangeFilters />
          <ListTable<ItemOf<'GET /admin/v1/changes'>>
            label={text.list}
            isInPlace
            list={list}
            empty={<EmptyState title={text.empty} hint={text.emptyHint} />}
            columns={[
              { header: text.when, cell: ({ at }) => <Instant at={at} /> },
              { header: text.who, cell: (change) => <Who change={change} /> },
              { header: text.what, cell: (change) => <What change={change} /> },
              { header: text.subject, cell: (change) => <Subject change={change} /> },
              {
                header: text.details,
                cell: (change) => (
                  <SmallButton onClick={() => setShown(change)} aria-label={text.detailsOf(change.sentence[language])}>
                    {text.details}
                  </SmallButton>
                ),
              },
            ]}
          />
        </Stack>
      </Section>
      <ChangeDialog change={shown} onClose={() => setShown(null)} />
    </Page>
  );
}

function Who({ change: { actor, clientAddress } }: { readonly change: Change }) {
  const text = useTexts(changesTexts);
  const by = [text.kinds[actor.kind], clientAddress].filter(Boolean).join(' · ');
  return (
    <>
      <Text size="sm" maw={200} truncate>
        {actor.localUser ?? actor.name}
      </Text>
      <SmallText style={{ whiteSpace: 'nowrap' }}>{by}</SmallText>
    </>
  );
}

/** Links to the account, and to the call if there is one. Names are in the sentence. */
function Subject({ change: { subject, accountId, accountName } }: { readonly change: Change }) {
  const account = accountId ?? (subject.kind === 'account' ? subject.id : null);
  return (
    <>
      {subject.kind === 'call' && subject.id !== null && <CallLink callId={subject.id} />}
      {account !== null && <AccountLink accountId={account} name={accountName ?? account} />}
    </>
  );
}

const SUMMARY_FIELDS = 2;
const OUTCOME_COLORS = { done: 'teal', failed: 'red', unknown: 'yellow' } as const;

/** The sentence of a change, its outcome unless it is done, and the changed fields. */
function What({ change: { sentence, outcome, errorCode, before, after } }: { readonly change: Change }) {
  const text = useTexts(changesTexts);
  const { language } = useLanguage();
  const { nameOf, shownOf } = useFieldWriter();
  const altered = sharedFieldsOf(before, after).filter(isAltered);
  return (
    <>
      <Text size="sm" maw={560} style={{ overflowWrap: 'anywhere' }}>
        {sentence[language]}
      </Text>
      {outcome !== 'done' && (
        <Badge size="sm" color={OUTCOME_COLORS[outcome]} title={text[`${outcome}Hint`]}>
          {[text[outcome], errorCode].filter(Boolean).join(' · ')}
        </Badge>
      )}
      {altered.slice(0, SUMMARY_FIELDS).map(({ field, ...values }) => (
        <Text key={field} size="xs" c="dimmed" maw={560} truncate>
          {nameOf(field)}
          {text.colon}
          {shownOf(field, values.before)} → {shownOf(field, values.after)}
        </Text>
      ))}
      {altered.length > SUMMARY_FIELDS && <SmallText>{text.more(altered.length - SUMMARY_FIELDS)}</SmallText>}
    </>
  );
}
