import stringWidth from 'string-width';
import { escapeText } from '../lib/plain-text.ts';
import type { Output } from './output.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'right';
}

/** Rows as aligned columns under their titles; the text `empty` if there are no rows. */
export function renderTable<Row>(rows: readonly Row[], empty: string, columns: readonly Column<Row>[]): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => columns.map(({ cell }) => escapeText(cell(row))));
  const titles = columns.map(({ title }) => title.toUpperCase());
  const lines = [titles, ...cells];
  const widths = columns.map((_, i) => columnWidth(lines.map((line) => line[i]!)));
  const pad = (text: string, i: number): string =>
    columns[i]!.align === 'right' ? padding(text, widths[i]!) + text : text + padding(text, widths[i]!);
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

/** Prints the rows as JSON with `--json`, else as `renderTable` has them. */
export function printTable<Row>(
  output: Output,
  rows: readonly Row[],
  empty: string,
  columns: readonly Column<Row>[],
): void {
  output.print(rows, () => renderTable(rows, empty, columns));
}

/** A line for each name and its value. */
export function renderFields(fields: readonly (readonly [string, string])[]): string {
  const width = columnWidth(fields.map(([name]) => name));
  return fields.map(([name, value]) => `${name}${padding(name, width)}  ${escapeText(value)}`).join('\n');
}

/** The width of the widest text in columns of a terminal: a Chinese character takes two, a combining mark none. */
function columnWidth(texts: readonly string[]): number {
  return texts.reduce((widest, text) => Math.max(widest, stringWidth(text)), 0);
}

/** The blanks that fill a text up to a width. */
function padding(text: string, width: number): string {
  return ' '.repeat(width - stringWidth(text));
}
