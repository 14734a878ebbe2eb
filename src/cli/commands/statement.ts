import type { Command } from 'commander';
import { statementCsv } from '../../api/usage/statement-csv.ts';
import type { StatementResponse } from '../../api/usage/statement-wire.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { renderFields, renderTable } from '../table.ts';
import { AMOUNT_COLUMNS } from './usage.ts';

export function statementCommand(program: Command, kit: CommandKit): void {
  addCommand(
    program,
    'statement',
    'print the statement of an account for a month: opening balance, entries, calls by model, closing balance',
  )
    .requiredOption('--account <account>', 'id, or a name that only one account has')
    .requiredOption('--month <month>', 'the month, such as 2026-10, in the billing time zone')
    .option('--csv', 'print CSV whose lines add up')
    .action(
      kit.reading(async (admin, output, { accountId, month, csv }) => {
        const path = `/accounts/${accountId}/statement?month=${encodeURIComponent(String(month))}`;
        const statement = await admin.request<StatementResponse>('GET', path);
        if (csv === true) kit.process.writeOut(statementCsv(statement));
        else output.print(statement, () => describe(statement));
      }),
    );
}

function describe(statement: StatementResponse): string {
  const { accountId, month, timezone, isOver, openingYuan, closingYuan, kinds, entries, areEntriesCut } = statement;
  const sums = renderFields([
    ['account', accountId],
    ['month', `${month}, ${timezone}${isOver ? '' : ' (not over yet)'}`],
    ['opening balance', `¥${openingYuan}`],
    ...kinds.map(
      ({ kind, entries: count, amountYuan }) =>
        [kind.replace('_', '-'), `¥${amountYuan}, ${count} ${count === 1 ? 'entry' : 'entries'}`] as const,
    ),
    ['closing balance', `¥${closingYuan}`],
  ]);
  const listed = renderTable(entries, 'No entries other than charges.', [
    { title: 'when', cell: (row) => localTime(row.createdAt) },
    { title: 'kind', cell: (row) => row.kind },
    { title: 'amount ¥', cell: (row) => row.amountYuan },
    { title: 'for', cell: (row) => row.callId ?? row.memo ?? '' },
  ]);
  const models = renderTable(statement.models, 'No calls.', [
    { title: 'model', cell: (row) => row.model ?? '' },
    ...AMOUNT_COLUMNS.slice(0, 6),
  ]);
  const cut = areEntriesCut ? [`More than ${entries.length} entries; the ledger has all.`] : [];
  return [sums, '', models, '', listed, ...cut].join('\n');
}
