import { createHash } from 'node:crypto';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { parseJson } from '../lib/json/json.ts';

/**
 * The form of an export: lines of JSON, each an object with one member. The first says what follows, the last what was
 * there, with a digest of all lines before it; a file without it was cut.
 *
 *     {"faregate_export":{"format":1,"schema":16,…}}
 *     {"accounts":{"id":"acct_…",…}}                    a row of a table, by the names of its columns
 *     {"account_end":{"account":"acct_…",…}}            sums of the account whose rows came before
 *     {"end":{…}}
 *
 * Rows are the database's own JSON and are never parsed here: amounts have more digits than a number of JavaScript.
 */
export const FORMAT = 1;

export interface ExportHead {
  readonly format: number;
  /** The version of the schema: `faregate db status`. */
  readonly schema: number;
  /** Of the database; an import takes it over, so that journals of its nodes still belong to it. */
  readonly identity: string;
  /** Whether its balances are those of the demo; `null` if no gateway has served it. */
  readonly isDemo: boolean | null;
  readonly exportedAt: string;
  readonly accounts: number;
  /** The columns of each table that follows. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
}

/** What an account has, as its rows say. Amounts are nano-yuan as text. */
export interface AccountEnd {
  readonly account: string;
  readonly balance: string;
  readonly entries: number;
  readonly entriesSum: string;
  readonly calls: number;
  readonly chargesSum: string;
}

export interface ExportEnd {
  readonly rows: Readonly<Record<string, number>>;
  readonly accounts: number;
  /** Accounts whose balance is not the sum of their entries: the books were broken before. */
  readonly unsoundAccounts: number;
  readonly balances: string;
  readonly entriesSum: string;
  readonly chargesSum: string;
  /** SHA-256 of all bytes before this line. */
  readonly sha256: string;
}

/** A file is no export, was cut or damaged, or does not fit; the message says what to do. */
export class TransferError extends ForeseenError {
  constructor(message: string) {
    super(message);
    this.name = 'TransferError';
  }
}

const LINE = /^\{"([a-z_]+)":(\{.*\})\}$/;

export function lineOf(name: string, json: string): string {
  return `{"${name}":${json}}\n`;
}

/** The member of a line and its value as JSON text. */
export function readLine(line: string): { readonly name: string; readonly json: string } {
  const [, name, json] = LINE.exec(line) ?? [];
  if (name === undefined || json === undefined)
    throw new TransferError('The file is no export of Faregate: a line of it has another form.');
  return { name, json };
}

/** The end of an export, of its last line; `null` if the line is another one. */
export function readEnd(line: string): ExportEnd | null {
  const [, name, json] = LINE.exec(line) ?? [];
  return name === 'end' ? (parseJson(json!) as ExportEnd) : null;
}

/** Whether the rows of an account agree with each other. */
export function isSound(end: Pick<AccountEnd, 'balance' | 'entriesSum'>): boolean {
  return end.balance === end.entriesSum;
}

export class LineDigest {
  readonly #hash = createHash('sha256');

  /** Lines with their ends, as many as there are. */
  add(lines: string): void {
    this.#hash.update(lines);
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex');
  }
}
