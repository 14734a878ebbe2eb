import stringWidth from 'string-width';
import { escapeText } from '../lib/plain-text.ts';
import { fitColumns, GAP, type TableColumn } from './fit-columns.ts';
import { localTime } from './local-time.ts';
import { terminalWidth } from './terminal-width.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Alignment of the column; absent: `right` if all cells are numbers, otherwise left. */
  readonly align?: 'right';
}

type Field = readonly [name: string, value: string];

/** A number with or without a unit; `-` stands for a missing number. */
const NUMERIC = /^(-|>?-?\d+(\.\d+)?( .*)?)?$/;

/**
 * Formats a table; without rows, returns the text `empty`. On a terminal that is too narrow, long texts are cut; if this is not enough, each
 * row becomes a block of lines.
 */
export function renderTable<Row>(rows: readonly Row[], empty: string, columns: readonly Column<Row>[]): string {
  if (rows.length === 0) return empty;
  const shown = columns.map(({ title, cell, align }): TableColumn => {
    const cells = rows.map((row) => escapeText(cell(row)));
    const isNumeric = cells.every((text) => NUMERIC.test(text)) && cells.some((text) => /\d/.test(text));
    return { title: title.toUpperCase(), cells, isRight: isNumeric || align === 'right' };
  });
  const width = terminalWidth();
  const fitted = width === null ? shown : fitColumns(shown, width);
  if (fitted === null) {
    return rows
      .map((row) => columns.map(({ title, cell }): Field => [title, cell(row)]))
      .map((fields) => renderFields(fields.map((field) => field[1] !== '' && field)))
      .join('\n\n');
  }
  const texts = fitted.map(({ title, cells, isRight }) => padded([title, ...cells], isRight));
  return texts[0]!
    .map((_, line) =>
      texts
        .map((column) => column[line])
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** Formats a line for each name and its value. A field that is false is left out. */
export function renderFields(fields: readonly (Field | false)[]): string {
  const shown = fields.filter((field) => field !== false);
  const names = padded(
    shown.map(([name]) => name),
    false,
  );
  return shown.map(([, value], line) => `${names[line]}  ${escapeText(value)}`).join('\n');
}

/** A member of a row, optionally with a title of its own, as in `call: id`. */
type Shown<Row> = (keyof Row & string) | `${string}: ${keyof Row & string}`;

/** Returns columns for members: `balanceYuan` with the title `balance ¥`, `createdAt` as local time with the title `created`. */
export function columnsOf<Row extends object>(...members: Shown<Row>[]): Column<Row>[] {
  return members.map(titleAndMember<Row>).map(({ title, member }) => ({
    title: title ?? wordsOf(member).replace(/ yuan$/, ' ¥'),
    cell: (row) => textOf(member, row[member]) ?? '',
  }));
}

/** Returns fields for members: `balanceYuan` as an amount with its sign, `createdAt` as local time. */
export function fieldsOf<Row extends object>(row: Row, ...members: Shown<Row>[]): Field[] {
  return members.map(titleAndMember<Row>).map(({ title, member }) => {
    const text = textOf(member, row[member]) ?? '-';
    const shown = member.endsWith('Yuan') && text !== '-' ? `¥${text}` : text;
    return [title ?? wordsOf(member).replace(/ yuan$/, ''), shown];
  });
}

function titleAndMember<Row>(shown: Shown<Row>): { title: string | undefined; member: keyof Row & string } {
  const [member, title] = shown.split(': ').toReversed() as [keyof Row & string, string?];
  return { title, member };
}

function wordsOf(member: string): string {
  return member.replace(/At$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Formats a value; `null` if there is none. */
function textOf(member: string, value: unknown): string | null {
  if (value === null || value === undefined) return ['expiresAt', 'lastSignInAt'].includes(member) ? 'never' : null;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.join(' ');
  return /(^at|At|^since)$/.test(member) ? localTime(String(value)) : String(value);
}

/** Pads texts to the same width in a terminal, where a Chinese character takes two columns and a combining mark none. */
function padded(texts: readonly string[], isRight: boolean): string[] {
  const widths = texts.map((text) => stringWidth(text));
  const widest = Math.max(0, ...widths);
  return texts.map((text, i) => {
    const blanks = ' '.repeat(widest - widths[i]!);
    return isRight ? blanks + text : text + blanks;
  });
}
