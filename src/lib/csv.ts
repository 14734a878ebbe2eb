/**
 * Formats a line of CSV (RFC 4180). Use this function for every table: a spreadsheet would execute a name such as `=1+1` as a formula. An
 * apostrophe before a possible formula, even within a cell, makes it text.
 */
export function csvLine(cells: readonly CsvCell[], lineEnd: '\r\n' | '\n' = '\r\n'): string {
  return `${cells.map(csvCell).join(',')}${lineEnd}`;
}

/** A value of a cell. `null`: the cell is empty. */
export type CsvCell = string | number | CsvAmount | null;

/** A decimal number as text, such as an amount in yuan, which is not checked for formulas as other text is. */
export class CsvAmount {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Beginning of a possible formula. Spreadsheets also accept full-width signs, and some skip blanks and quotes before a sign. */
const FORMULA = /^(?:[\t\r\n]|[\s"]*[=+\-@＝＋－＠])/;
/** A possible formula within a cell: some spreadsheets begin a new cell at `;` or tab, even within quotes. */
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
