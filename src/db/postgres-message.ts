import pg from 'pg';
import { type Query, type Statement, type StoredRow, toSqlText } from './database.ts';

const BIGINT_OID = 20;
const DATE_OID = 1082;

/** Types of the driver, with two exceptions: PostgreSQL's `bigint` becomes a JavaScript `bigint`, and `date` stays text. */
export const TYPES = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === BIGINT_OID) return BigInt;
    if (oid === DATE_OID) return String;
    return pg.types.getTypeParser(oid, format);
  },
};

export type Rows = readonly StoredRow[];

export interface RowShape {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
}

export type Command = string | Query;

/** The prefix separates these statements from those that the driver prepares on the same connection. */
export const prepareText = ({ name }: Statement, text: string): string => `prepare "sql:${name}" as ${text}`;

/**
 * Returns SQL that executes a prepared statement, because one message can contain several. With `standard_conforming_strings`, literals
 * need no escapes except for quotes. @throws an error with the server's code for a zero byte, which would end the text
 */
function executeText({ statement, parameters }: Query): string {
  let text = `execute "sql:${statement.name}"`;
  for (let i = 0; i < parameters.length; i++) {
    const parameter = parameters[i]!;
    const value = typeof parameter === 'string' || parameter === null ? parameter : toSqlText(parameter);
    if (value?.includes('\0')) {
      throw Object.assign(new Error('invalid byte sequence for encoding "UTF8": 0x00'), { code: '22021' });
    }
    text += `${i === 0 ? '(' : ','}${value === null ? 'null' : `'${value.replaceAll("'", "''")}'`}`;
  }
  return parameters.length === 0 ? text : `${text})`;
}

/** A message of the simple query protocol. Its result is the rows of each command. */
export class Message implements pg.Submittable {
  readonly #commands: readonly Command[];
  readonly #text: string;
  /** Row formats by statement. The columns of a prepared statement do not change. */
  readonly #shapes: Map<string, RowShape>;
  readonly #results: Rows[] = [];
  #rows: StoredRow[] = [];
  #shape: RowShape | null = null;
  #failure: unknown = null;
  /** Called with the result. The driver wraps it with its own timeout. */
  callback: (error: unknown, results: readonly Rows[]) => void = () => undefined;

  constructor(commands: readonly Command[], shapes: Map<string, RowShape>) {
    let text = '';
    for (const command of commands) {
      text += text === '' ? '' : ';';
      text += typeof command === 'string' ? command : executeText(command);
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
