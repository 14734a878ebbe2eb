import { type Parameter, PLAIN, type Query, type SqlValue, type Statement, toArrayItem } from './database.ts';

/** Returns an array parameter per field, for `unnest`. A field without any value becomes an empty array, which `unnest` pads with nulls. */
export function fieldsOf<Field extends string>(
  rows: readonly { readonly [Name in Field]: SqlValue }[],
  ...fields: readonly Field[]
): string[] {
  const parameters: string[] = [];
  for (const field of fields) {
    let items = '';
    for (let i = 0; i < rows.length; i++) {
      const value: SqlValue = rows[i]![field];
      if (value === null && items === '') continue;
      // At the first value, adds nulls for all rows before it.
      items += items === '' ? NULL_AND_COMMA.repeat(i) : ',';
      items += typeof value === 'string' && PLAIN.test(value) ? value : toArrayItem(value);
    }
    parameters.push(`{${items}}`);
  }
  return parameters;
}

const NULL_AND_COMMA = `${toArrayItem(null)},`;

export function columnsOf<Row>(rows: readonly Row[], ...columns: readonly ((row: Row) => SqlValue)[]): string[] {
  return columns.flatMap((read) =>
    fieldsOf(
      rows.map((row) => ({ value: read(row) })),
      'value',
    ),
  );
}

export function writeRows<Field extends string>(
  statement: Statement,
  rows: readonly { readonly [Name in Field]: SqlValue }[],
  fields: readonly Field[],
  further: readonly Parameter[] = [],
): Query[] {
  return rows.length === 0 ? [] : [{ statement, parameters: [...fieldsOf(rows, ...fields), ...further] }];
}

let keptSecond = Number.NaN;
let keptSecondText = '';

/** Returns the same text as `toISOString`. It caches the second, because formatting the timestamps of each call takes noticeable time. */
export function toTimestamp(epochMs: number): string {
  const second = Math.floor(epochMs / 1_000);
  if (second !== keptSecond) {
    keptSecond = second;
    keptSecondText = new Date(epochMs).toISOString().slice(0, -'000Z'.length);
  }
  return `${keptSecondText}${String(epochMs - second * 1_000).padStart(3, '0')}Z`;
}
