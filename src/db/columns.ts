import { type Parameter, type Query, type SqlValue, type Statement, toArrayItem } from './database.ts';

/**
 * A parameter for each column, an array of a value for each row: what `unnest` makes rows of. A column without a value is
 * sent as an array without items, which `unnest` fills up with nulls: most calls have no value for most columns, and each
 * item costs time on both sides.
 */
export function columnsOf<Row>(rows: readonly Row[], ...columns: readonly ((row: Row) => SqlValue)[]): string[] {
  return columns.map((read) => columnOf(rows, read));
}

/** As `columnsOf`, of fields that are sent as they are. */
export function fieldsOf<Field extends string>(
  rows: readonly { readonly [Name in Field]: SqlValue }[],
  ...fields: readonly Field[]
): string[] {
  return fields.map((field) => columnOf(rows, (row) => row[field]));
}

function columnOf<Row>(rows: readonly Row[], read: (row: Row) => SqlValue): string {
  let items = '';
  for (let i = 0; i < rows.length; i++) {
    const value = read(rows[i]!);
    if (value === null && items === '') continue;
    // The rows before the first one that has a value.
    items += items === '' ? NULL_AND_COMMA.repeat(i) : ',';
    items += toArrayItem(value);
  }
  return `{${items}}`;
}

const NULL_AND_COMMA = `${toArrayItem(null)},`;

/** A statement that writes rows, if there are any. */
export function writeRows<Row>(
  statement: Statement,
  rows: readonly Row[],
  columns: readonly ((row: Row) => SqlValue)[],
  further: readonly Parameter[] = [],
): Query[] {
  return rows.length === 0 ? [] : [{ statement, parameters: [...columnsOf(rows, ...columns), ...further] }];
}

let keptSecond = Number.NaN;
let keptSecondText = '';

/** As `toISOString`, which shows in a profile: every call has three timestamps, and most of them are in the same second. */
export function toTimestamp(epochMs: number): string {
  const second = Math.floor(epochMs / 1_000);
  if (second !== keptSecond) {
    keptSecond = second;
    keptSecondText = new Date(epochMs).toISOString().slice(0, -'000Z'.length);
  }
  return `${keptSecondText}${String(epochMs - second * 1_000).padStart(3, '0')}Z`;
}
