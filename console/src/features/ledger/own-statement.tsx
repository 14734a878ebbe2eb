import { Alert, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { isMonth } from '../../parts/days.ts';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.tsx';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { ledgerTexts } from './own-texts.ts';
import { StatementEntries } from './statement-entries.tsx';

/** What a month comes to, to print or to save; at first the one that it is in the billing time zone. */
export function Statement() {
  const [query, change] = usePlaceQuery();
  const account = useRead('GET /account/v1/account', {});
  const chosen = isMonth(query.month) ? query.month : null;
  const month = chosen ?? account.data?.today.slice(0, 7);
  if (month !== undefined) return <StatementOf month={month} onChange={(next) => change({ month: next })} />;
  return account.isPending ? <Loading /> : <ErrorNotice error={account.error} onRetry={() => void account.refetch()} />;
}

interface StatementOfProps {
  readonly month: string;
  readonly onChange: (month: string) => void;
}

function StatementOf({ month, onChange }: StatementOfProps) {
  const text = useTexts(ledgerTexts);
  const kinds = useTexts(ledgerKindTexts);
  const format = useFormat();
  const statement = useRead('GET /account/v1/statement', { query: { month } });
  const { data } = statement;
  return (
    <Stack>
      <Group align="flex-end" className="no-print">
        <CalendarField type="month" label={text.month} value={month} onChange={onChange} />
        <Button variant="default" onClick={() => window.print()}>
          {text.print}
        </Button>
        <CsvButton
          endpoint="GET /account/v1/statement"
          input={{ query: { month } }}
          fileName={`statement-${month}.csv`}
        />
      </Group>
      <ErrorNotice error={statement.error} onRetry={() => void statement.refetch()} />
      {statement.isPending && <Loading />}
      {data !== undefined && (
        <>
          <Title order={2} size="h3">
            {text.statementOf(data.month)}
          </Title>
          <Text c="dimmed" size="sm">
            {format.day(data.from, data.timezone)} –{' '}
            {format.day(new Date(Date.parse(data.to) - 1).toISOString(), data.timezone)} ·{' '}
            {text.timezone(data.timezone)}
          </Text>
          {!data.isOver && (
            <Alert color="blue" className="no-print">
              {text.notOver}
            </Alert>
          )}
          <SimpleGrid cols={{ base: 2, md: 3 }}>
            <Tile label={text.opening}>
              <Yuan amount={data.openingYuan} isShort />
            </Tile>
            {data.kinds.map(({ kind, entries, amountYuan }) => (
              <Tile key={kind} label={kinds[kind]} detail={`${text.entries}: ${format.count(entries)}`}>
                <Yuan amount={amountYuan} isShort />
              </Tile>
            ))}
            <Tile label={text.closing}>
              <Yuan amount={data.closingYuan} isShort />
            </Tile>
          </SimpleGrid>
          {data.models.length > 0 && (
            <Section title={text.models}>
              <DataTable
                label={text.models}
                items={data.models}
                idOf={({ model }) => model ?? ''}
                columns={[
                  { header: text.model, cell: ({ model }) => model ?? '–' },
                  { header: text.calls, cell: ({ calls }) => format.count(calls), isFigure: true },
                  {
                    header: text.charge,
                    cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} />,
                    isFigure: true,
                  },
                ]}
              />
            </Section>
          )}
          <StatementEntries entries={data.entries} areEntriesCut={data.areEntriesCut} />
        </>
      )}
    </Stack>
  );
}
