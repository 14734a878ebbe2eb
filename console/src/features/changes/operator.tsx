import { Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type ItemOf, useList } from '../../api/queries.ts';
import type { Change } from '../../api/types.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { Instant } from '../../parts/figures.tsx';
import { AccountLink, CallLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { ChangeDialog, writeValue } from './change-dialog.tsx';
import { ChangeFilters, filterOf } from './change-filters.tsx';
import { fieldsOf, isAltered } from './difference.ts';
import { changesTexts } from './texts.ts';

export function ChangesPage() {
  const text = useTexts(changesTexts);
  const [query, setQuery] = usePlaceQuery();
  const [shown, setShown] = useState<Change | null>(null);
  const input = { query: filterOf(query) };
  const list = useList('GET /admin/v1/changes', input);
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={<CsvButton endpoint="GET /admin/v1/changes" input={input} fileName="changes.csv" />}
    >
      <Section>
        <Stack>
          <ChangeFilters query={query} onChange={setQuery} />
          <ListTable<ItemOf<'GET /admin/v1/changes'>>
            label={text.list}
            list={list}
            idOf={({ id }) => id}
            empty={<EmptyState title={text.empty} hint={text.emptyHint} />}
            columns={[
              { header: text.when, cell: ({ at }) => <Instant at={at} /> },
              { header: text.who, cell: (change) => <Who change={change} /> },
              { header: text.action, cell: (change) => <Action change={change} /> },
              { header: text.subject, cell: (change) => <Subject change={change} /> },
              { header: text.what, cell: (change) => <Summary change={change} /> },
              {
                header: text.details,
                cell: (change) => (
                  <Button
                    size="compact-sm"
                    variant="default"
                    onClick={() => setShown(change)}
                    aria-label={text.detailsOf(change.action)}
                  >
                    {text.details}
                  </Button>
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
      <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {by}
      </Text>
    </>
  );
}

function Subject({ change: { subject, accountId, accountName } }: { readonly change: Change }) {
  if (subject.kind === 'account' && subject.id !== null) {
    const name = subject.id === accountId ? (accountName ?? undefined) : undefined;
    return <AccountLink accountId={subject.id} name={name} />;
  }
  return (
    <>
      <Group gap={6}>
        <span>{subject.kind}</span>
        {subject.kind === 'call' && subject.id !== null ? (
          <CallLink callId={subject.id} />
        ) : (
          subject.id !== null && <Code title={subject.id}>{shortId(subject.id)}</Code>
        )}
      </Group>
      {accountId !== null && <AccountLink accountId={accountId} name={accountName ?? accountId} />}
    </>
  );
}

/** The end of a long id, where ids differ. */
const shortId = (id: string): string => (id.length <= 24 ? id : `${id.slice(0, 4)}…${id.slice(-8)}`);

const SUMMARY_FIELDS = 2;

function Summary({ change: { before, after } }: { readonly change: Change }) {
  const text = useTexts(changesTexts);
  if (before === null && after === null) return <span>–</span>;
  if (before === null) return <span>{text.newSubject}</span>;
  if (after === null) return <span>{text.goneSubject}</span>;
  const altered = fieldsOf(before, after).filter(isAltered);
  if (altered.length === 0) return <span>–</span>;
  return (
    <>
      {altered.slice(0, SUMMARY_FIELDS).map(({ field, ...values }) => (
        <Text key={field} size="sm" maw={320} truncate>
          {field}: {writeValue(values.before)} → {writeValue(values.after)}
        </Text>
      ))}
      {altered.length > SUMMARY_FIELDS && (
        <Text size="xs" c="dimmed">
          {text.more(altered.length - SUMMARY_FIELDS)}
        </Text>
      )}
    </>
  );
}

const OUTCOME_COLORS = { done: 'teal', failed: 'red', unknown: 'yellow' } as const;

function Action({ change: { action, outcome, errorCode } }: { readonly change: Change }) {
  const text = useTexts(changesTexts);
  const hint = { done: undefined, failed: text.failedHint, unknown: text.unknownHint }[outcome];
  return (
    <>
      <Code>{action}</Code>
      <div>
        <Badge variant="light" size="sm" color={OUTCOME_COLORS[outcome]} autoContrast title={hint}>
          {text[outcome]}
        </Badge>
        {errorCode !== null && <Text size="xs">{errorCode}</Text>}
      </div>
    </>
  );
}
