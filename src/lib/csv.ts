/**
 * A line of CSV (RFC 4180), the only writer of tables that people open in spreadsheets. A number is written as it is. Text that a
 * spreadsheet would take for a formula gets an apostrophe before it, which spreadsheets show as text, inside a cell too if another
 * one could begin: names come from other people.
 */
export function csvLine(cells: readonly CsvCell[], lineEnd: '\r\n' | '\n' = '\r\n'): string {
  return `${cells.map(csvCell).join(',')}${lineEnd}`;
}

/** Text, or a number or amount that cannot be a formula; `null` is empty. */
export type CsvCell = string | number | CsvAmount | null;

/** A decimal number as text, such as an amount in yuan. Anything else is written as text. */
export class CsvAmount {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Spreadsheets of East Asia take the wide forms of these signs for them, and some programs skip blanks and quotes before a sign. */
const FORMULA = /^(?:[\t\r\n]|[\s"]*[=+\-@＝＋－＠])/;
/** Behind these, spreadsheets that split at `;` or a tab begin another cell, also inside quotes of ours and with quotes of its own. */
const FORMULA_INSIDE = /([;\t\r\n][ "]*)(?=[=+\-@＝＋－＠])/g;
const NEEDS_QUOTES = /[",\r\n]/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

function csvCell(cell: CsvCell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  if (typeof cell === 'string') return csvText(cell);
  return DECIMAL.test(cell.text) ? cell.text : csvText(cell.text);
}

function csvText(cell: string): string {
  const text = (FORMULA.test(cell) ? `'${cell}` : cell).replace(FORMULA_INSIDE, "$1'");
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
