import { statementCsv } from '../../api/usage/statement-csv.ts';
import type { StatementResponse } from '../../api/usage/statement-wire.ts';
import type { CommandRows } from '../command-rows.ts';
import { columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';
import { describeBuyer } from './invoice.ts';
import { AMOUNT_COLUMNS } from './usage.ts';

export const statementCommands: CommandRows = {
  statement: {
    about: 'print the statement of an account for a month: opening balance, entries, calls by model, closing balance',
    with: {
      '--account <account>': { text: 'id, or a name that only one account has', isRequired: true },
      '--month <month>': { text: 'the month, such as 2026-10, in the billing time zone', isRequired: true },
      '--csv': 'print CSV; the opening balance and the lines below it add up to the closing balance',
    },
    async reads(admin, output, { accountId, month, csv }, { writeOut }) {
      const path = `/accounts/${accountId}/statement?month=${encodeURIComponent(String(month))}`;
      const statement = await admin.request<StatementResponse>('GET', path);
      if (csv === true) writeOut(statementCsv(statement));
      else output.print(statement, describe);
    },
  },
};

function describe(statement: StatementResponse): string {
  const { seller, buyer, month, timezone, isOver, kinds, entries, areEntriesCut } = statement;
  const sums = renderFields([
    seller !== null && [
      'seller',
      [seller.name, seller.taxNumber, seller.address].filter((part) => part !== null).join(', '),
    ],
    ['account', `${statement.accountName} (${statement.accountId})`],
    buyer !== null && ['buyer', describeBuyer(buyer)],
    ['month', `${month}, ${timezone}${isOver ? '' : ' (not over yet)'}`],
    ...fieldsOf(statement, 'opening balance: openingYuan'),
    ...kinds.map(
      ({ kind, entries: count, amountYuan }) =>
        [kind.replace('_', '-'), `¥${amountYuan}, ${count} ${count === 1 ? 'entry' : 'entries'}`] as const,
    ),
    ...fieldsOf(statement, 'closing balance: closingYuan'),
  ]);
  const listed = renderTable(entries, 'No entries other than charges.', [
    ...columnsOf<StatementResponse['entries'][number]>('when: createdAt', 'kind', 'amountYuan'),
    { title: 'for', cell: (row) => row.callId ?? row.memo ?? '' },
    ...columnsOf<StatementResponse['entries'][number]>('reference'),
  ]);
  const models = renderTable(statement.models, 'No calls.', [
    ...columnsOf<StatementResponse['models'][number]>('model'),
    ...AMOUNT_COLUMNS.slice(0, 6),
  ]);
  const cut = areEntriesCut ? [`More than ${entries.length} entries; the ledger has all.`] : [];
  return [sums, '', models, '', listed, ...cut].join('\n');
}
