import { type Parameter, PLAIN, type Query, type SqlValue, type Statement } from './database.ts';

export interface WrittenColumn {
  readonly name: string;
  readonly type: string;
  /** The member of the row that contains the field (an absent one counts as `null`); `null`: the row itself. */
  readonly within: string | null;
  readonly field: string;
  /** Converts a value for the column, or to text for JSON columns; `null`: no conversion. */
  readonly write: ((field: never) => SqlValue) | null;
  /** A value that is omitted, as `null` is. */
  readonly without?: SqlValue | undefined;
}

/**
 * Passes rows as one JSON parameter, expanded by `json_to_recordset`. For small batches, `unnest` with an array per column costs the server
 * several times as much (docs/measurements.md, "Rows in a parameter").
 */
export class JsonRows<Row> {
  readonly #columns: readonly (WrittenColumn & { readonly key: string; readonly isJson: boolean })[];
  readonly columns: string;
  readonly #members: string;

  constructor(columns: readonly WrittenColumn[]) {
    // `key`: the JSON text before a value.
    this.#columns = columns.map((column) => ({ ...column, key: `"${column.name}":`, isJson: column.type === 'jsonb' }));
    this.columns = columns.map(({ name, type }) => `${name} ${type}`).join(', ');
    this.#members = columns.map(({ name, type }) => `${immutableValue(name, type)} as ${name}`).join(', ');
  }

  /** SQL: the rows of the first parameter as a table. */
  as(table: string): string {
    return `json_to_recordset($1::json) as ${table} (${this.columns})`;
  }

  /** Replaces functions that are not immutable, such as `json_to_recordset`: for these, Citus generates SQL that no server accepts. */
  onCitus(text: string, table: string): string {
    const rows = `(select ${this.#members} from jsonb_array_elements($1::jsonb) as r) as ${table}`;
    return text.replace(this.as(table), rows);
  }

  /** Omits `null` values, because most calls have no value for most columns. */
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

  /** `further`: parameters after the rows. Returns no statement if there are no rows. */
  write(statement: Statement, rows: readonly Row[], further: readonly Parameter[] = []): Query[] {
    return rows.length === 0 ? [] : [{ statement, parameters: [this.parameter(rows), ...further] }];
  }
}

type Member = Readonly<Record<string, unknown>>;

/** SQL: a member of the JSON object `r`, converted by immutable functions. Instants must have the format of `toTimestamp`. */
function immutableValue(name: string, type: string): string {
  if (type === 'jsonb') return `r->'${name}'`;
  const text = `r->>'${name}'`;
  if (type !== 'timestamptz') return `(${text})::${type}`;
  const parts = [1, 6, 9, 12, 15].map((from) => `substr(${text}, ${from}, ${from === 1 ? 4 : 2})::int`).join(', ');
  return `make_timestamp(${parts}, substr(${text}, 18, 6)::float8) at time zone 'UTC'`;
}
