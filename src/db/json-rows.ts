import { type Parameter, PLAIN, type Query, type SqlValue, type Statement } from './database.ts';

export interface WrittenColumn {
  readonly name: string;
  readonly type: string;
  /** Name of the member that contains the field (without that member, the column is null); `null`: the row itself contains it. */
  readonly within: string | null;
  readonly field: string;
  /** Converts a field to a value of the column, or to text for a JSON column; `null`: no conversion. */
  readonly write: ((field: never) => SqlValue) | null;
  /** A value that is omitted, in the same way as `null`. */
  readonly without?: SqlValue | undefined;
}

/**
 * Passes rows as one JSON parameter, which `json_to_recordset` expands. For small batches, an array per column with `unnest` costs the
 * server several times as much (docs/measurements.md, "Rows in a parameter").
 */
export class JsonRows<Row> {
  readonly #columns: readonly (WrittenColumn & { readonly key: string; readonly isJson: boolean })[];
  readonly columns: string;
  readonly #members: string;

  constructor(columns: readonly WrittenColumn[]) {
    // `key` is the JSON text before each value.
    this.#columns = columns.map((column) => ({ ...column, key: `"${column.name}":`, isJson: column.type === 'jsonb' }));
    this.columns = columns.map(({ name, type }) => `${name} ${type}`).join(', ');
    this.#members = columns.map(({ name, type }) => `${immutableValue(name, type)} as ${name}`).join(', ');
  }

  /** SQL: the rows of the first parameter as a table. */
  as(table: string): string {
    return `json_to_recordset($1::json) as ${table} (${this.columns})`;
  }

  /** Replaces functions that are not immutable, such as `json_to_recordset`: Citus converts them to SQL that no server accepts. */
  onCitus(text: string, table: string): string {
    const rows = `(select ${this.#members} from jsonb_array_elements($1::jsonb) as r) as ${table}`;
    return text.replace(this.as(table), rows);
  }

  /** Returns the rows as JSON. Omits `null` values, because most calls have no value for most columns. */
  parameter(rows: readonly Row[]): string {
    const columns = this.#columns;
    let text = '[';
    for (let n = 0; n < rows.length; n++) {
      const row = rows[n] as Member;
      let before = n === 0 ? '{' : ',{';
      for (let i = 0; i < columns.length; i++) {
        const { within, field, write, without, key, isJson } = columns[i]!;
        const member = within === null ? row : (row[within] as Member | null);
        const stored = member === null ? null : member[field];
        if (stored === null || stored === without) continue;
        const value = write === null ? stored : write(stored as never);
        if (value === null || value === undefined) continue;
        text += before + key;
        if (typeof value !== 'string' || isJson) text += value;
        else text += PLAIN.test(value) ? `"${value}"` : JSON.stringify(value.toWellFormed());
        before = ',';
      }
      text += before === ',' ? '}' : `${before}}`;
    }
    return `${text}]`;
  }

  /** Returns the statement with its parameters: the rows, then `further`. Without rows, returns no statement. */
  write(statement: Statement, rows: readonly Row[], further: readonly Parameter[] = []): Query[] {
    return rows.length === 0 ? [] : [{ statement, parameters: [this.parameter(rows), ...further] }];
  }
}

type Member = Readonly<Record<string, unknown>>;

/** SQL: reads a member of the JSON object `r` by immutable functions only. Instants must have the format of `toTimestamp`. */
function immutableValue(name: string, type: string): string {
  if (type === 'jsonb') return `r->'${name}'`;
  const text = `r->>'${name}'`;
  if (type !== 'timestamptz') return `(${text})::${type}`;
  const parts = [1, 6, 9, 12, 15].map((from) => `substr(${text}, ${from}, ${from === 1 ? 4 : 2})::int`).join(', ');
  return `make_timestamp(${parts}, substr(${text}, 18, 6)::float8) at time zone 'UTC'`;
}
