import { csvOf } from '../management/list-csv.ts';
import type { StatementResponse } from './statement-wire.ts';

/** Formats a statement. The opening balance plus all other lines is the closing balance. All charges are one line. */
export function statementCsv(statement: StatementResponse): string {
  const { from, to, kinds, entries, areEntriesCut, openingYuan, closingYuan } = statement;
  const { titles, lineOf } = csvOf(['line', 'when', 'entries', 'amountYuan', 'callId', 'memo', 'reference']);
  const summed = kinds.filter(({ kind }) => kind === 'charge' || areEntriesCut);
  const listed = areEntriesCut ? [] : entries;
  return [
    titles,
    lineOf({ line: 'opening', when: from, amountYuan: openingYuan }),
    ...summed.map(({ kind, ...sum }) => lineOf({ line: kind, ...sum })),
    ...listed.map(({ kind, createdAt, ...entry }) => lineOf({ line: kind, when: createdAt, entries: 1, ...entry })),
    lineOf({ line: 'closing', when: to, amountYuan: closingYuan }),
  ].join('');
}
