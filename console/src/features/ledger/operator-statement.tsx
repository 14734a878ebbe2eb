import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Account } from '../../api/types.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { dayIn, isMonth } from '../../parts/days.ts';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { statementTexts } from './operator-statement-texts.ts';
import { StatementEntries } from './statement-entries.tsx';

/** What the ledger says of the account and a month. */
export function StatementTab({ account }: { readonly account: Account }) {
  const text = useTexts(statementTexts);
  const kinds = useTexts(ledgerKindTexts);
  const format = useFormat();
  const [query, setQuery] = usePlaceQuery();
  const { billingTimezone } = useSession();
  const month = isMonth(query.month) ? query.month : dayIn(billingTimezone, Date.now()).slice(0, 7);
  const input = { path: { id: account.id }, query: { month } };
  const { data, error, refetch } = useRead('GET /admin/v1/accounts/{id}/statement', input);
  return (
    <Stack>
      <Group align="flex-end" className="no-print">
        <CalendarField
          type="month"
          label={text.month}
          value={month}
          onChange={(chosen) => setQuery({ month: chosen })}
        />
        <CsvButton
          endpoint="GET /admin/v1/accounts/{id}/statement"
          input={input}
          fileName={`${account.id}-${month}.csv`}
        />
        <Button variant="default" onClick={() => window.print()}>
          {text.print}
        </Button>
      </Group>
      <ErrorNotice error={error} onRetry={() => void refetch()} />
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (
        <>
          <Title order={2} size="h3">
            {text.of(account.name, data.month)}
          </Title>
          <Text size="sm" c="dimmed">
            {text.timezone(data.timezone)} {!data.isOver && text.notOver}
          </Text>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Tile label={text.opening}>
              <Yuan amount={data.openingYuan} />
            </Tile>
            <Tile label={text.closing}>
              <Yuan amount={data.closingYuan} />
            </Tile>
          </SimpleGrid>
          <Section title={text.kinds}>
            {data.kinds.length === 0 ? (
              <EmptyState title={text.noEntries} />
            ) : (
              <DataTable
                label={text.kinds}
                items={data.kinds}
                idOf={({ kind }) => kind}
                columns={[
                  { header: text.kind, cell: ({ kind }) => kinds[kind] },
                  { header: text.entries, isFigure: true, cell: ({ entries }) => format.count(entries) },
                  { header: text.amount, isFigure: true, cell: ({ amountYuan }) => <Yuan amount={amountYuan} /> },
                ]}
              />
            )}
          </Section>
          <Section title={text.models}>
            {data.models.length === 0 ? (
              <EmptyState title={text.noCalls} />
            ) : (
              <DataTable
                label={text.models}
                items={data.models}
                idOf={({ model }) => model ?? ''}
                columns={[
                  { header: text.model, cell: ({ model }) => model ?? '–' },
                  { header: text.calls, isFigure: true, cell: ({ calls }) => format.count(calls) },
                  { header: text.net, isFigure: true, cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} /> },
                ]}
              />
            )}
          </Section>
          <StatementEntries entries={data.entries} areEntriesCut={data.areEntriesCut} />
        </>
      )}
    </Stack>
  );
}
