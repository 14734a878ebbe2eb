import { createHash } from 'node:crypto';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { parseJson } from '../lib/json/json.ts';

/**
 * The export format: lines of JSON, each an object with one member. The first line describes the export. The last line has totals and a
 * digest of all lines before it; without it, the file is incomplete.
 *
 *     {"faregate_export":{"format":1,"schema":16,…}}
 *     {"accounts":{"id":"acct_…",…}}                    a table row, by column name
 *     {"account_end":{"account":"acct_…",…}}            totals of the account whose rows precede it
 *     {"end":{…}}
 *
 * Rows are JSON that the database has produced. They are never parsed here, because amounts exceed the precision of JavaScript numbers.
 */
export const FORMAT = 1;

export interface ExportHead {
  readonly format: number;
  /** Version of the schema, which `faregate db status` shows. */
  readonly schema: number;
  /** Id of the database. An import takes it over, so that journals of the nodes still belong to the database. */
  readonly identity: string;
  /** Whether the balances are those of the demo; `null`: no gateway has used the database. */
  readonly isDemo: boolean | null;
  readonly exportedAt: string;
  readonly accounts: number;
  readonly tables: Readonly<Record<string, readonly string[]>>;
}

/** Totals of an account. Amounts are nano-yuan as text. */
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
  /** Number of accounts whose balance differed from the sum of their ledger entries. */
  readonly unsoundAccounts: number;
  readonly balances: string;
  readonly entriesSum: string;
  readonly chargesSum: string;
  /** Digest of all bytes before this line. */
  readonly sha256: string;
}

/** The file is not an export, is incomplete or damaged, or does not fit the database. The message tells the user what to do. */
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

export function readLine(line: string): { readonly name: string; readonly json: string } {
  const [, name, json] = LINE.exec(line) ?? [];
  if (name === undefined || json === undefined)
    throw new TransferError('The file is not a Faregate export: one of its lines has an unknown format.');
  return { name, json };
}

/** Reads the last line; `null` for any other line. */
export function readEnd(line: string): ExportEnd | null {
  const [, name, json] = LINE.exec(line) ?? [];
  return name === 'end' ? (parseJson(json!) as ExportEnd) : null;
}

export function isSound(end: Pick<AccountEnd, 'balance' | 'entriesSum'>): boolean {
  return end.balance === end.entriesSum;
}

export class LineDigest {
  readonly #hash = createHash('sha256');

  /** Adds complete lines, with their line breaks. */
  add(lines: string): void {
    this.#hash.update(lines);
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex');
  }
}
