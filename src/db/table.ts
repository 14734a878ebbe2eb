import { type SqlValue, toTimestamp } from './columns.ts';
import type { Statement } from './database.ts';

/** A column: its name and type in SQL, and how a field of a row is read from it and written to it. */
interface Column<Value> {
  readonly name: string;
  readonly type: string;
  read(stored: unknown): Value;
  write(value: Value): SqlValue;
}

/** A column for each field of a row. A field without one does not compile. */
export type ColumnsOf<Row extends object> = { readonly [Field in keyof Row]-?: Column<Row[Field]> };

/** A row as the database returns it, by the names of its columns. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** The columns of a table in one order: what statements list, and how rows are made of what they return. */
export class TableColumns<Row extends object> {
  readonly names: readonly string[];
  /** For `writeRows`. */
  readonly values: readonly ((row: Row) => SqlValue)[];
  /** Rows of the parameters that `writeRows` makes: `unnest($1::text[], …)`. */
  readonly unnest: string;
  readonly #fields: readonly (keyof Row)[];
  readonly #columns: readonly Column<Row[keyof Row]>[];

  constructor(columns: ColumnsOf<Row>) {
    this.#fields = Object.keys(columns) as (keyof Row)[];
    this.#columns = Object.values<Column<Row[keyof Row]>>(columns);
    this.names = this.#columns.map(({ name }) => name);
    this.values = this.#fields.map((field) => (row: Row) => columns[field].write(row[field]));
    this.unnest = `unnest(${this.#columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ')})`;
  }

  /** For `select`, of a table that the statement calls so. */
  of(alias: string): string {
    return this.names.map((name) => `${alias}.${name}`).join(', ');
  }

  read(stored: StoredRow): Row {
    const row = {} as Row;
    // Every call reads several rows, so this goes without an iterator.
    for (let i = 0; i < this.#fields.length; i++) {
      row[this.#fields[i]!] = this.#columns[i]!.read(stored[this.names[i]!]);
    }
    return row;
  }
}

/** A table whose rows are read, changed by a decision, and written back. */
export class CountedTable<Terms extends object, Counts extends object> {
  /** All columns. */
  readonly columns: TableColumns<Terms & Counts>;
  /** What `update` takes: the key and what is counted. */
  readonly written: TableColumns<Terms & Counts>;
  readonly #update: string;
  readonly #counts: readonly (keyof Counts)[];

  /** `key`: fields of the primary key. */
  constructor(
    name: string,
    { key, terms, counts }: { key: readonly (keyof Terms)[]; terms: ColumnsOf<Terms>; counts: ColumnsOf<Counts> },
  ) {
    type All = Terms & Counts;
    const all = { ...terms, ...counts } as unknown as ColumnsOf<All>;
    this.columns = new TableColumns<All>(all);
    const keyColumns = Object.fromEntries(key.map((field) => [field, terms[field]]));
    this.written = new TableColumns<All>({ ...keyColumns, ...counts } as unknown as ColumnsOf<All>);
    this.#counts = Object.keys(counts) as (keyof Counts)[];
    const changes = new TableColumns(counts).names.map((column) => `${column} = v.${column}`).join(', ');
    const isSame = key.map((field) => `t.${terms[field].name} = v.${terms[field].name}`).join(' and ');
    this.#update = `update ${name} t set ${changes}
from ${this.written.unnest} as v (${this.written.names.join(', ')})
where ${isSame}`;
  }

  /** Writes what is counted back, to rows that exist; parameters are the values of `written`. Plan: primary key. */
  update(name: string): Statement {
    return { name, text: this.#update };
  }

  /** Whether anything that is counted differs. */
  hasChanged(before: Counts, after: Counts): boolean {
    return this.#counts.some((field) => before[field] !== after[field]);
  }
}

const asItIs = <Value extends SqlValue>(name: string, type: string): Column<Value> => ({
  name,
  type,
  read: (stored) => stored as Value,
  write: (value) => value,
});

export const textColumn = (name: string): Column<string> => asItIs(name, 'text');

/** An amount. */
export const bigintColumn = (name: string): Column<bigint> => asItIs(name, 'bigint');

/** A number that stays far below 2⁵³. */
export const countColumn = (name: string): Column<number> => ({ ...asItIs<number>(name, 'bigint'), read: Number });

/** An instant in milliseconds. */
export const instantColumn = (name: string): Column<number> => ({
  name,
  type: 'timestamptz',
  read: (stored) => (stored as Date).getTime(),
  write: toTimestamp,
});

/** A value as JSON in a column of text. */
export const jsonColumn = <Value>(name: string): Column<Value> => ({
  name,
  type: 'text',
  read: (stored) => JSON.parse(stored as string) as Value,
  write: (value) => JSON.stringify(value),
});

export function orNull<Value>(column: Column<Value>): Column<Value | null> {
  return {
    ...column,
    read: (stored) => (stored === null ? null : column.read(stored)),
    write: (value) => (value === null ? null : column.write(value)),
  };
}
