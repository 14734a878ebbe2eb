/**
 * Writes a line of CSV (RFC 4180). All tables that people open in spreadsheets must be written with this function: names come from other
 * people, and a spreadsheet could read them as formulas. An apostrophe is written before a possible formula, so that spreadsheets show it
 * as text. This also applies within a cell, where a spreadsheet might split the cell.
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

/**
 * The beginning of a possible formula. East Asian spreadsheets also accept the full-width forms of the signs, and some programs skip blanks
 * and quotes before a sign.
 */
const FORMULA = /^(?:[\t\r\n]|[\s"]*[=+\-@＝＋－＠])/;
/**
 * A possible formula within a cell. Spreadsheets that split at `;` or tab begin another cell after these characters, even within quotes.
 */
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
