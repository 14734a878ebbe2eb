import { type Parameter, PLAIN, type Query, type SqlValue, type Statement } from './database.ts';

/** A column that is written, and where a row has its value. */
export interface WrittenColumn {
  readonly name: string;
  /** SQL. */
  readonly type: string;
  /** The member of the row that has the field, and is `null` where there is none; `null`: the row itself. */
  readonly within: string | null;
  readonly field: string;
  /** Makes the value of the field, of a column of JSON as text; `null`: it is the field. */
  readonly write: ((field: never) => SqlValue) | null;
  /** A field that is left out, as `null` is. */
  readonly without?: SqlValue | undefined;
}

/**
 * Rows as one parameter of a statement, JSON of which `json_to_recordset` makes rows. An array for each column (`unnest`) costs the server several
 * times as much while a batch has few calls, since it sets up a function for each of 50 columns (docs/measurements.md, "Rows in a parameter").
 */
export class JsonRows<Row> {
  readonly #columns: readonly (WrittenColumn & { readonly key: string; readonly isJson: boolean })[];
  /** SQL: with their types. */
  readonly columns: string;
  readonly #members: string;

  constructor(columns: readonly WrittenColumn[]) {
    // What stands before a value.
    this.#columns = columns.map((column) => ({ ...column, key: `"${column.name}":`, isJson: column.type === 'jsonb' }));
    this.columns = columns.map(({ name, type }) => `${name} ${type}`).join(', ');
    this.#members = columns.map(({ name, type }) => `${immutableValue(name, type)} as ${name}`).join(', ');
  }

  /** SQL: the rows of the first parameter, as a table of this name. */
  as(table: string): string {
    return `json_to_recordset($1::json) as ${table} (${this.columns})`;
  }

  /**
   * What a statement of these rows is on Citus, if it is to be handed on to a worker as it is. Of an insert with functions that are not immutable, as
   * `json_to_recordset` and the parsing of instants, it makes a text that no server understands.
   */
  onCitus(text: string, table: string): string {
    const rows = `(select ${this.#members} from jsonb_array_elements($1::jsonb) as r) as ${table}`;
    return text.replace(this.as(table), rows);
  }

  /** The parameter. What is `null` is left out: most calls have no value for most columns. */
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

  /** A statement that writes rows, if there are any. `further`: its parameters behind the rows. */
  write(statement: Statement, rows: readonly Row[], further: readonly Parameter[] = []): Query[] {
    return rows.length === 0 ? [] : [{ statement, parameters: [this.parameter(rows), ...further] }];
  }
}

type Member = Readonly<Record<string, unknown>>;

/** SQL: a member of the JSON object `r` as a value of a type. Instants are as `toTimestamp` writes them. */
function immutableValue(name: string, type: string): string {
  if (type === 'jsonb') return `r->'${name}'`;
  const text = `r->>'${name}'`;
  if (type !== 'timestamptz') return `(${text})::${type}`;
  const parts = [1, 6, 9, 12, 15].map((from) => `substr(${text}, ${from}, ${from === 1 ? 4 : 2})::int`).join(', ');
  return `make_timestamp(${parts}, substr(${text}, 18, 6)::float8) at time zone 'UTC'`;
}
