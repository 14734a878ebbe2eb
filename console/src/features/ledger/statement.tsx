import { Alert, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { OwnStatement, Statement } from '../../api/types.ts';
import { CalendarField } from '../../parts/calendar-field.tsx';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { type Read, ReadState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { Paper } from './paper.tsx';
import { paperTexts } from './paper-texts.ts';
import { StatementEntries } from './statement-entries.tsx';
import { statementTexts } from './statement-texts.ts';

interface MonthlyStatementProps {
  readonly title: string;
  readonly month: string;
  readonly read: Read & { readonly data: OwnStatement | Statement | undefined };
  /** Whether the reader can enter the buyer's particulars. */
  readonly isOwn: boolean;
  readonly csv: ReactNode;
}

/** A monthly statement to print or save. Amounts are exact, because paper has no tooltips. */
export function MonthlyStatement({ title, month, read, isOwn, csv }: MonthlyStatementProps) {
  const text = useTexts(statementTexts);
  const { print } = useTexts(paperTexts);
  const [, change] = usePlaceQuery();
  const { data } = read;
  return (
    <Stack>
      <Group align="flex-end" className="no-print">
        <CalendarField type="month" label={text.month} value={month} onChange={(next) => change({ month: next })} />
        <Button variant="default" onClick={() => window.print()}>
          {print}
        </Button>
        {csv}
      </Group>
      <ReadState read={read} />
      {data !== undefined && (
        <Paper parties={data} isOwn={isOwn}>
          <Title order={2} size="h3">
            {title}
          </Title>
          <Sums statement={data} />
          <StatementEntries entries={data.entries} areEntriesCut={data.areEntriesCut} />
        </Paper>
      )}
    </Stack>
  );
}

function Sums({ statement }: { readonly statement: OwnStatement | Statement }) {
  const text = useTexts(statementTexts);
  const kinds = useTexts(ledgerKindTexts);
  const format = useFormat();
  const { from, to, timezone, isOver, openingYuan, closingYuan, models } = statement;
  const lastMs = Date.parse(to) - 1;
  return (
    <>
      <Text c="dimmed" size="sm">
        {format.day(from, timezone)} – {format.day(new Date(lastMs).toISOString(), timezone)} ·{' '}
        {text.timezone(timezone)}
      </Text>
      {!isOver && (
        <Alert color="blue" className="no-print">
          {text.notOver}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        <Tile label={text.opening}>
          <Yuan amount={openingYuan} />
        </Tile>
        {statement.kinds.map(({ kind, entries, amountYuan }) => (
          <Tile key={kind} label={kinds[kind]} detail={`${text.entries}: ${format.count(entries)}`}>
            <Yuan amount={amountYuan} />
          </Tile>
        ))}
        <Tile label={text.closing}>
          <Yuan amount={closingYuan} />
        </Tile>
      </SimpleGrid>
      {models.length > 0 && (
        <Section title={text.models}>
          <DataTable
            label={text.models}
            items={models}
            idOf={({ model }) => model ?? ''}
            columns={[
              { header: text.model, cell: ({ model }) => model ?? '–' },
              { header: text.calls, isFigure: true, cell: ({ calls }) => format.count(calls) },
              { header: text.netCharge, isFigure: true, cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} /> },
            ]}
          />
        </Section>
      )}
    </>
  );
}
