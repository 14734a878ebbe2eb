import stringWidth from 'string-width';
import { escapeText } from '../lib/plain-text.ts';
import { localTime } from './local-time.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** By default `right` if all cells are numbers. */
  readonly align?: 'right';
}

type Field = readonly [name: string, value: string];

/** With or without a unit; `-` stands for an absent number. */
const NUMERIC = /^(-|>?-?\d+(\.\d+)?( .*)?)?$/;

/** Returns the text `empty` if there are no rows. */
export function renderTable<Row>(rows: readonly Row[], empty: string, columns: readonly Column<Row>[]): string {
  if (rows.length === 0) return empty;
  const texts = columns.map(({ title, cell, align }) => {
    const cells = rows.map((row) => escapeText(cell(row)));
    const isNumeric = cells.every((text) => NUMERIC.test(text)) && cells.some((text) => /\d/.test(text));
    return padded([title.toUpperCase(), ...cells], isNumeric || align === 'right');
  });
  return texts[0]!
    .map((_, line) =>
      texts
        .map((column) => column[line])
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A line for each name and its value. A field that is false is left out. */
export function renderFields(fields: readonly (Field | false)[]): string {
  const shown = fields.filter((field) => field !== false);
  const names = padded(
    shown.map(([name]) => name),
    false,
  );
  return shown.map(([, value], line) => `${names[line]}  ${escapeText(value)}`).join('\n');
}

/** A member of a row, with another title in front if it is not to be shown under its own name: `call: id`. */
type Shown<Row> = (keyof Row & string) | `${string}: ${keyof Row & string}`;

/** Columns of members, each under its name: `balanceYuan` under `balance ¥`, `createdAt` as local time under `created`. */
export function columnsOf<Row extends object>(...members: Shown<Row>[]): Column<Row>[] {
  return members.map(titleAndMember<Row>).map(({ title, member }) => ({
    title: title ?? wordsOf(member).replace(/ yuan$/, ' ¥'),
    cell: (row) => textOf(member, row[member]) ?? '',
  }));
}

/** Fields of members, each by its name: `balanceYuan` as an amount with its sign, `createdAt` as local time. */
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

/** `null` if the member has no value. */
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
