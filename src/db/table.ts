import { toTimestamp } from './columns.ts';
import { type SqlValue, type Statement, type StoredRow, toArray } from './database.ts';
import { JsonRows, type WrittenColumn } from './json-rows.ts';

/**
 * This file describes the columns that a store reads and writes. Row types, column lists and the conversion of rows are derived from them.
 *
 *     const users = selection({
 *       id: textColumn('u.id'),
 *       // As entered by the creator of the user.
 *       email: orNull(textColumn('u.email')),
 *       hasPassword: booleanColumn('u.password_hash is not null as has_password'),
 *     });
 *     type User = RowOf<typeof users>;
 *     const selectUser = { name: 'users.select', text: `select ${users.list} from users u where u.id = $1` };
 *     const user = users.first(await database.query(selectUser, [id]));
 */

/** A column: how to select it, its type as a parameter, and how to read and write its values. */
export interface Column<Value> {
  /** Name of the column in the rows of a statement. */
  readonly name: string;
  readonly type: string;
  /** Returns SQL for a column list. `table`: prefix of a column that has none, such as `u.`, or empty. */
  select(table: string): string;
  /** Converts a stored value to a field; the next member converts it back. `null`: no conversion. Null values are not converted. */
  readonly read: ((stored: unknown) => Value) | null;
  readonly write: ((value: never) => SqlValue) | null;
}

type Fields = { readonly [field: string]: Column<unknown> | Selection<unknown> };

export type RowOfFields<Of extends Fields> = {
  readonly [Field in keyof Of]: ReturnType<NonNullable<Of[Field]['read']>>;
};

export type RowOf<Of extends { read(stored: StoredRow): unknown }> = ReturnType<Of['read']>;

export class Selection<Row> {
  readonly fields: Fields;
  /** All columns in the order of the list, including those of nested fields. */
  readonly columns: readonly Column<unknown>[];
  readonly #own: readonly { readonly field: string; readonly name: string; readonly read: Column<unknown>['read'] }[];
  readonly #nested: readonly (readonly [field: string, selection: Selection<unknown>])[];
  readonly #make: ((row: never) => Row) | null;

  /** `make` converts the fields to a row; `null`: the fields are the row. */
  constructor(fields: Fields, make: ((row: never) => Row) | null = null) {
    const entries = Object.entries(fields);
    this.fields = fields;
    this.#own = entries.flatMap(([field, of]) =>
      of instanceof Selection ? [] : [{ field, name: of.name, read: of.read }],
    );
    this.#nested = entries.flatMap(([field, of]) => (of instanceof Selection ? [[field, of] as const] : []));
    this.#make = make;
    this.columns = entries.flatMap(([, of]) => (of instanceof Selection ? of.columns : [of]));
    const names = this.columns.map(({ name }) => name);
    if (new Set(names).size < names.length) throw new Error(`two columns have the same name: ${names.join(', ')}`);
  }

  get list(): string {
    return this.columns.map((column) => column.select('')).join(', ');
  }

  /** SQL: the column list with a table alias. */
  of(table: string): string {
    return this.columns.map((column) => column.select(`${table}.`)).join(', ');
  }

  /** Returns the same selection with a table alias, as a part of another selection. */
  from(table: string): Selection<Row> {
    const fields = Object.entries(this.fields).map(([field, of]) => [
      field,
      of instanceof Selection ? of.from(table) : { ...of, select: () => of.select(`${table}.`) },
    ]);
    return new Selection(Object.fromEntries(fields) as Fields, this.#make);
  }

  to<Made>(make: (row: Row) => Made): Selection<Made> {
    const own = this.#make;
    return new Selection<Made>(this.fields, own === null ? make : (row: never) => make(own(row)));
  }

  read(stored: StoredRow): Row {
    const row: Record<string, unknown> = {};
    const own = this.#own;
    // This runs several times per call, and an iterator would be slower.
    for (let i = 0; i < own.length; i++) {
      const { field, name, read } = own[i]!;
      const value = stored[name];
      if (value === undefined) throw new Error(`a statement does not select ${name}`);
      row[field] = value === null || read === null ? value : read(value);
    }
    for (const [field, selection] of this.#nested) row[field] = selection.read(stored);
    return this.#make === null ? (row as Row) : this.#make(row as never);
  }

  all(rows: readonly StoredRow[]): Row[] {
    return rows.map((row) => this.read(row));
  }

  first(rows: readonly StoredRow[]): Row | null {
    return rows.length === 0 ? null : this.read(rows[0]!);
  }
}

export function selection<const Of extends Fields>(fields: Of): Selection<RowOfFields<Of>> {
  return new Selection(fields);
}

/** The columns of a table in a fixed order, for reading and writing. */
export class TableColumns<Row extends object> extends Selection<Row> {
  readonly names: readonly string[];
  readonly rows: JsonRows<Row>;
  readonly #written: readonly WrittenColumn[];

  /** @param fields columns, without nested selections */
  constructor(fields: Fields) {
    super(fields);
    this.names = this.columns.map(({ name }) => name);
    this.#written = Object.entries(fields).flatMap(([field, of]): WrittenColumn[] =>
      of instanceof Selection
        ? Object.entries(of.fields).map(([nested, column]) => ({
            ...(column as Column<unknown>),
            within: field,
            field: nested,
          }))
        : [{ ...of, within: null, field }],
    );
    this.rows = new JsonRows(this.#written);
  }

  /** SQL: a typed parameter for each column: `$1::text, …`. */
  parameters(first = 1): string {
    return this.columns.map(({ type }, i) => `$${i + first}::${type}`).join(', ');
  }

  valuesOf(row: Row): SqlValue[] {
    const fields = row as Readonly<Record<string, unknown>>;
    return this.#written.map(({ within, field, write }) => {
      const value = within === null ? fields[field] : (fields[within] as typeof fields)[field];
      return value === null || write === null ? (value as SqlValue) : write(value as never);
    });
  }
}

export function tableColumns<const Of extends Fields>(fields: Of): TableColumns<RowOfFields<Of>> {
  return new TableColumns(fields);
}

/** A row whose fields a decision can change. */
export type Changing<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** A table whose rows are read, changed by a decision, and written back. */
class CountedTable<Terms extends object, Counts extends object> {
  readonly columns: TableColumns<Terms & Counts>;
  /** The columns that `update` writes: key and counts. */
  readonly written: TableColumns<Terms & Counts>;
  readonly counts: Selection<Counts>;
  readonly #update: string;
  readonly #counts: readonly (keyof Counts)[];

  constructor(name: string, key: readonly string[], terms: ColumnsByField, counts: ColumnsByField) {
    const keyColumns = Object.fromEntries(key.map((field) => [field, terms[field]!]));
    this.columns = new TableColumns<Terms & Counts>({ ...terms, ...counts });
    this.written = new TableColumns<Terms & Counts>({ ...keyColumns, ...counts });
    this.counts = new Selection<Counts>(counts);
    this.#counts = Object.keys(counts) as (keyof Counts)[];
    const isSet = (column: Column<unknown>): string => `${column.name} = v.${column.name}`;
    this.#update = `update ${name} t set ${this.counts.columns.map(isSet).join(', ')}
from ${this.written.rows.as('v')}
where ${Object.values(keyColumns)
      .map((column) => `t.${isSet(column)}`)
      .join(' and ')}`;
  }

  /** Creates the statement that writes the counts of existing rows. Its parameter is made by `written.rows`. */
  update(name: string): Statement {
    return { name, text: this.#update };
  }

  hasChanged(before: Counts, after: Counts): boolean {
    for (const field of this.#counts) if (before[field] !== after[field]) return true;
    return false;
  }
}

type ColumnsByField = { readonly [field: string]: Column<unknown> };

/** Describes a table with counts. Decisions change the fields in `counts`. `key`: the fields of the primary key. */
export function countedTable<const Terms extends ColumnsByField, const Counts extends ColumnsByField>(
  name: string,
  of: { readonly key: readonly (keyof Terms & string)[]; readonly terms: Terms; readonly counts: Counts },
): CountedTable<RowOfFields<Terms>, Changing<RowOfFields<Counts>>> {
  return new CountedTable(name, of.key, of.terms, of.counts);
}

type AnyTable = { readonly hasChanged: (before: never, after: never) => boolean };
export type CountsOf<Of extends AnyTable> = Parameters<Of['hasChanged']>[0];
export type TermsOf<Of extends AnyTable> = Of extends CountedTable<infer Terms, CountsOf<Of>> ? Terms : never;

/** @param sql a column as `name`, `table.name` or `… as name` */
function column<Value>(
  type: string,
  sql: string,
  read: ((stored: never) => Value) | null = null,
  write: ((value: Value) => SqlValue) | null = null,
): Column<Value> {
  const name = sql.slice(Math.max(sql.lastIndexOf(' '), sql.lastIndexOf('.')) + 1);
  const isPlain = name === sql;
  return {
    name,
    type,
    select: (table) => (isPlain ? `${table}${sql}` : sql),
    read: read as Column<Value>['read'],
    write,
  };
}

export const textColumn = <Value extends string = string>(sql: string): Column<Value> => column('text', sql);

export const booleanColumn = (sql: string): Column<boolean> => column('boolean', sql);

export const bigintColumn = (sql: string): Column<bigint> => column('bigint', sql);

export const intColumn = (sql: string): Column<number> => column('int', sql);

/** A column of integers below 2⁵³, stored as `bigint`. */
export const countColumn = (sql: string): Column<number> => column('bigint', sql, Number);

/** A column of instants in milliseconds since the Unix epoch. */
export const instantColumn = (sql: string): Column<number> => column<number>('timestamptz', sql, Number, toTimestamp);

export const dateColumn = (sql: string): Column<Date> =>
  column<Date>('timestamptz', sql, null, (value) => toTimestamp(value.getTime()));

export const bytesColumn = (sql: string): Column<Buffer> =>
  column<Buffer>(
    'bytea',
    sql,
    (stored: Uint8Array) => Buffer.from(stored),
    (value) => `\\x${value.toString('hex')}`,
  );

export const jsonColumn = <Value>(sql: string): Column<Value> =>
  column<Value>('text', sql, (stored: string) => JSON.parse(stored) as Value, JSON.stringify);

export const jsonbColumn = <Value>(sql: string): Column<Value> => column<Value>('jsonb', sql, null, JSON.stringify);

/** A column of type `text[]`, selected as JSON, which is easy to parse. */
export const listColumn = <Value extends string = string>(name: string): Column<readonly Value[]> => ({
  ...column<readonly Value[]>('text[]', name, null, toArray),
  select: (table) => `to_jsonb(${table}${name}) as ${name}`,
});

export const orNull = <Value>(of: Column<Value>): Column<Value | null> => of;
