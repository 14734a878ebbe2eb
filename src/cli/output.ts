import { escapeJson, escapeLines, escapeText } from '../lib/plain-text.ts';

/** What commands print: tables for people, JSON with `--json`. */
export interface Output {
  /** Prints the value as JSON where that was asked for, else what `render` makes of it. */
  print(value: unknown, render: () => string): void;
}

export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    print(value, render) {
      // Names and memos may have been stored when any character was taken.
      write(`${isJson ? escapeJson(JSON.stringify(value, null, 2)) : escapeLines(render())}\n`);
    },
  };
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'right';
}

/** Rows as aligned columns under their titles; a friendly word where there are none. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => columns.map(({ cell }) => escapeText(cell(row))));
  const titles = columns.map(({ title }) => title.toUpperCase());
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((line) => line[i]!.length)));
  const pad = (text: string, i: number): string =>
    columns[i]!.align === 'right' ? text.padStart(widths[i]!) : text.padEnd(widths[i]!);
  return [titles, ...cells].map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

/** Name and value, a line each. */
export function renderFields(fields: readonly (readonly [string, string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${escapeText(value)}`).join('\n');
}
