import pg from 'pg';
import { executeText, type Query, type Statement, type StoredRow } from './database.ts';

const BIGINT_OID = 20;
const DATE_OID = 1082;

/** `bigint` as `bigint`, `date` as text; the rest as the driver does it. */
export const TYPES = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === BIGINT_OID) return BigInt;
    if (oid === DATE_OID) return String;
    return pg.types.getTypeParser(oid, format);
  },
};

export type Rows = readonly StoredRow[];

/** How the columns of a statement's rows are read, worked out once. */
export interface RowShape {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
}

/** A command in SQL, or a statement that was prepared in SQL. */
export type Command = string | Query;

/** The driver prepares statements on the same connection under their own names; the prefix keeps the two apart. */
export const preparedName = ({ name }: Statement): string => `sql:${name}`;

/** A message of the simple protocol to the driver, which calls the handlers with the response: the rows of each command. */
export class Message implements pg.Submittable {
  readonly #commands: readonly Command[];
  readonly #text: string;
  /** Of prepared statements, which have the same columns each time. */
  readonly #shapes: Map<string, RowShape>;
  readonly #results: Rows[] = [];
  #rows: StoredRow[] = [];
  #shape: RowShape | null = null;
  #failure: unknown = null;
  /** The driver puts its own limit of time around it. */
  callback: (error: unknown, results: readonly Rows[]) => void = () => undefined;

  constructor(commands: readonly Command[], shapes: Map<string, RowShape>) {
    let text = '';
    for (const command of commands) {
      text += text === '' ? '' : ';';
      text += typeof command === 'string' ? command : executeText(preparedName(command.statement), command.parameters);
    }
    this.#commands = commands;
    this.#text = text;
    this.#shapes = shapes;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text);
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    const command = this.#commands[this.#results.length];
    const name = typeof command === 'object' ? command.statement.name : null;
    this.#shape = name === null ? null : (this.#shapes.get(name) ?? null);
    if (this.#shape !== null) return;
    this.#shape = {
      names: fields.map((field) => field.name),
      parsers: fields.map(({ dataTypeID }) => TYPES.getTypeParser(dataTypeID, 'text')),
    };
    if (name !== null) this.#shapes.set(name, this.#shape);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { names, parsers } = this.#shape!;
    const row: Record<string, unknown> = {};
    try {
      for (let i = 0; i < fields.length; i++) {
        const text = fields[i]!;
        row[names[i]!] = text === null ? null : parsers[i]!(text);
      }
    } catch (error) {
      this.#failure ??= error;
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows);
    this.#rows = [];
  }

  handleEmptyQuery(): void {}

  handleError(error: unknown): void {
    this.callback(this.#failure ?? error, []);
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#results);
  }
}
