import { isDeepStrictEqual } from 'node:util';
import { UPGRADE_FIRST } from '../lib/earliest.ts';
import { parseJson } from '../lib/json/json.ts';
import {
  type AccountEnd,
  type ExportEnd,
  type ExportHead,
  FORMAT,
  isSound,
  LineDigest,
  readLine,
  TransferError,
} from './format.ts';
import { type ImportWriter, importInto, isOfAccount } from './import-store.ts';
import { byTable, EXPORTED_TABLES, type ExportedTable, isExportedTable } from './tables.ts';

/** Result of an import. The database has counted the rows after the last one. */
export interface Imported {
  readonly head: ExportHead;
  readonly end: ExportEnd;
  readonly rows: Readonly<Record<ExportedTable, number>>;
  /** Redemptions that were removed, because they were newer than the snapshot of their accounts. */
  readonly lateRedemptions: number;
  /** Accounts whose balance already differed from the sum of their ledger entries in the export. */
  readonly unsound: readonly string[];
}

interface ImportDependencies {
  readonly directory: Parameters<typeof importInto>[0];
  readonly schema: number;
  readonly onProgress?: (progress: { readonly accounts: number; readonly of: number }) => void;
}

/**
 * Oldest schema whose exports can be imported. Columns and tables of later migrations get their defaults. A migration for which defaults do
 * not suffice raises this to its own version.
 */
const SCHEMA_MIN = 44;
const BATCH_BYTES = 512 * 1024;
/** From this schema on, everything that a voucher gives has an idempotency key derived from its code. */
const GRANTS_KEYED_SINCE = 48;
/** Columns of earlier schemas, which are ignored. */
const GONE: Partial<Record<ExportedTable, string>> = {
  accounts: 'low_balance_set_at',
  voucher_redemptions: 'under_way_since',
};

/**
 * Imports all of a file or nothing. Fails if the file is incomplete, damaged or of an unsupported version, or if an account's totals differ
 * from those in the file. `lines` have no line breaks.
 * @throws TransferError if nothing was imported
 */
export function importDatabase(
  lines: AsyncIterable<string>,
  { directory, schema, onProgress }: ImportDependencies,
): Promise<Imported> {
  return importInto(directory, async (writer) => {
    await requireEmpty(writer);
    const digest = new LineDigest();
    const batches = new Batches(writer);
    let head: ExportHead | null = null;
    let end: ExportEnd | null = null;
    for await (const line of lines) {
      if (end !== null) throw new TransferError('The file continues after its end line.');
      const { name, json } = readLine(line);
      if (name === 'end') {
        end = parseJson(json) as ExportEnd;
        if (end.sha256 !== digest.sha256) throw new TransferError(`${DAMAGED} Its digest does not match.`);
        continue;
      }
      digest.add(`${line}\n`);
      if (head === null) {
        head = readHead(name, json, schema);
        await useColumns(writer, head, schema);
        await writer.setIdentity(head.identity, await markOf(head, writer));
      } else if (name === 'account_end') {
        await batches.end(parseJson(json) as AccountEnd);
        onProgress?.({ accounts: batches.accounts, of: head.accounts });
      } else if (isIncomplete(name, json)) {
        throw new TransferError(INCOMPLETE);
      } else if (isExportedTable(name)) {
        await batches.add(name, json);
      } else {
        throw new TransferError(`The file has rows of an unknown table: ${name}.`);
      }
    }
    if (head === null || end === null) throw new TransferError(TRUNCATED);
    await batches.write();
    await writer.recomputeUsage();
    const rows = await compareRows(writer, end, batches.accounts);
    const lateRedemptions = head.schema < GRANTS_KEYED_SINCE ? 0 : await writer.removeLateRedemptions(head.exportedAt);
    return { head, end, rows, lateRedemptions, unsound: batches.unsound };
  });
}

/** Whether a row is incomplete. Earlier versions created accounts and redeemed vouchers in several steps, and exported unfinished ones. */
const isIncomplete = (name: string, json: string): boolean =>
  name === 'new_accounts' || (name === 'voucher_redemptions' && /"under_way_since": ?"/.test(json));

const INCOMPLETE =
  'When the file was written, an account was being created or a voucher redeemed, and only the version of Faregate that wrote the file ' +
  'can complete this. Import the file with that version, start a gateway on that database and, when it serves, export again; or use another ' +
  'file. Nothing was imported.';
const TRUNCATED =
  'The file is not complete: its last line is missing. Nothing was imported; export again, or use an earlier file.';
const DAMAGED = 'The file is damaged: nothing was imported; export again, or use an earlier file.';

async function requireEmpty(writer: ImportWriter): Promise<void> {
  await writer.lockTables();
  const nodes = await writer.runningNodes();
  if (nodes.length > 0) {
    throw new TransferError(
      `Gateways are running on this database: ${nodes.join(', ')}. Stop them first; an import requires a new database.`,
    );
  }
  await writer.deleteStartRecords();
  const filled = await writer.filledTables();
  if (filled.length === 0) return;
  throw new TransferError(
    `This database is not empty: ${filled.join(', ')}. An import requires an empty one: specify another directory with --data-dir, ` +
      'or create another database with createdb and set DATABASE_URL.',
  );
}

/** Returns whether the database is marked as a demo after the import. A mark never changes. */
async function markOf({ isDemo }: ExportHead, writer: ImportWriter): Promise<boolean | null> {
  const isHere = await writer.isDemo();
  if (isHere === null || isHere === isDemo) return isDemo;
  if (isDemo === null && !isHere) return isHere;
  throw new TransferError(
    isHere
      ? 'This database is marked as demo, but the file is not a demo export. Import it into a new database.'
      : 'The file is a demo export, whose balances nobody has paid for, but a production gateway has used ' +
          'this database. Import it into a new database.',
  );
}

function readHead(name: string, json: string, schema: number): ExportHead {
  if (name !== 'faregate_export') throw new TransferError('The file is not a Faregate export.');
  const head = parseJson(json) as ExportHead;
  if (head.format !== FORMAT) {
    throw new TransferError(
      `The file has format ${head.format}, but this version reads only format ${FORMAT}. Use the version of Faregate that wrote the file.`,
    );
  }
  if (head.schema > schema) {
    throw new TransferError(
      `The file has schema version ${head.schema}, but this program supports only ${schema}. Use a newer version of Faregate.`,
    );
  }
  if (head.schema < SCHEMA_MIN) {
    throw new TransferError(
      `The file has schema version ${head.schema}, but this program reads only version ${SCHEMA_MIN} and later. Import it with the version of Faregate ` +
        `that wrote it. ${UPGRADE_FIRST}`,
    );
  }
  return head;
}

/** Checks columns. If the file has an older schema, tables of this database can have additional ones. */
async function useColumns(writer: ImportWriter, head: ExportHead, schema: number): Promise<void> {
  const columnsHere = await writer.readColumns();
  for (const table of EXPORTED_TABLES) {
    const here = [...columnsHere[table]].sort();
    const isKnown = (name: string): boolean => name !== GONE[table];
    const there = (head.tables[table] ?? []).filter(isKnown).sort();
    const isRead = head.schema < schema ? there.every((name) => here.includes(name)) : isDeepStrictEqual(here, there);
    if (!isRead) {
      throw new TransferError(
        `The table ${table} has different columns in the file (${there.join(', ')}) and in this database (${here.join(', ')}).`,
      );
    }
    writer.useColumns(table, there);
  }
}

/** Patterns for JSON of the database, which escapes quotes in texts with a backslash. */
const ID = /"id": ?"([^"]+)"/;
const ACCOUNT_ID = /"account_id": ?"([^"]+)"/;
const STARTED_AT = /"started_at": ?"([^"]+)"/;

const valueIn = (pattern: RegExp, row: string): string => pattern.exec(row)?.[1] ?? '';

/** Collects rows and writes them in the order of tables. Compares the totals of each account in the file with those in the database. */
class Batches {
  accounts = 0;
  readonly unsound: string[] = [];
  readonly #writer: ImportWriter;
  /** Rows by table and partition. */
  readonly #rows: Readonly<Record<ExportedTable, string[][]>>;
  #bytes = 0;
  readonly #months = new Set<string>();
  /** Account of the last row. The rows of an account follow each other. */
  #last = { accountId: '', place: 0 };
  #placed = 0;
  /** Accounts of which all rows were written or are in this batch. */
  #ended: { readonly end: AccountEnd; readonly place: number }[] = [];

  constructor(writer: ImportWriter) {
    this.#writer = writer;
    this.#rows = byTable(() => Array.from({ length: writer.partitions }, (): string[] => []));
  }

  async add(table: ExportedTable, row: string): Promise<void> {
    const place = await this.#placeOf(table, row);
    if (table === 'calls') await this.#prepareMonth(row);
    this.#rows[table][place]!.push(row);
    this.#bytes += row.length;
    if (this.#bytes >= BATCH_BYTES) await this.write();
  }

  async end(end: AccountEnd): Promise<void> {
    this.accounts++;
    if (!isSound(end)) this.unsound.push(end.account);
    this.#ended.push({ end, place: await this.#find(end.account) });
  }

  async write(): Promise<void> {
    for (const table of EXPORTED_TABLES) {
      for (const [place, rows] of this.#rows[table].entries()) {
        if (rows.length === 0) continue;
        await this.#writer.insert(table, rows, place);
        rows.length = 0;
      }
    }
    this.#bytes = 0;
    for (const [place, ended] of Map.groupBy(this.#ended, (each) => each.place)) {
      const ends = ended.map(({ end }) => end);
      const accounts = ends.map(({ account }) => account);
      compareSums(ends, new Map((await this.#writer.sums(accounts, place)).map((sum) => [sum.account, sum])));
    }
    this.#ended = [];
  }

  /** Returns the partition of a row; 0 for rows without one. Accounts are assigned to partitions in turn. */
  async #placeOf(table: ExportedTable, row: string): Promise<number> {
    if (table === 'accounts') {
      this.#last = { accountId: valueIn(ID, row), place: this.#placed++ % this.#writer.partitions };
      return this.#last.place;
    }
    return isOfAccount(table) ? this.#find(valueIn(ACCOUNT_ID, row)) : 0;
  }

  async #find(accountId: string): Promise<number> {
    if (accountId === this.#last.accountId) return this.#last.place;
    await this.write();
    const place = await this.#writer.placeOf(accountId);
    if (place === null)
      throw new TransferError(`${DAMAGED} It contains rows of account ${accountId}, but not the account itself.`);
    this.#last = { accountId, place };
    return place;
  }

  async #prepareMonth(call: string): Promise<void> {
    const startedAt = new Date(valueIn(STARTED_AT, call));
    if (Number.isNaN(startedAt.getTime())) throw new TransferError(DAMAGED);
    const month = startedAt.toISOString().slice(0, 7);
    if (this.#months.has(month)) return;
    await this.#writer.prepareMonth(month);
    this.#months.add(month);
  }
}

const FIELDS = ['balance', 'entries', 'entriesSum', 'calls', 'chargesSum'] as const;

function compareSums(ends: readonly AccountEnd[], found: ReadonlyMap<string, AccountEnd>): void {
  for (const wanted of ends) {
    const is = found.get(wanted.account);
    const differences = FIELDS.filter((field) => is?.[field] !== wanted[field]);
    if (differences.length === 0) continue;
    const details = differences.map(
      (field) => `${field} ${wanted[field]} in the file, ${is?.[field] ?? 'none'} in this database`,
    );
    throw new TransferError(
      `The sums of account ${wanted.account} differ: ${details.join('; ')}. Nothing was imported.`,
    );
  }
}

async function compareRows(writer: ImportWriter, end: ExportEnd, accounts: number): Promise<Imported['rows']> {
  if (accounts !== end.accounts)
    throw new TransferError(`${DAMAGED} It contains only ${accounts} of ${end.accounts} accounts.`);
  const rows = await writer.countRows();
  for (const [table, here] of Object.entries(rows)) {
    const there = end.rows[table] ?? 0;
    if (here === there) continue;
    throw new TransferError(
      `The table ${table} has ${here} rows in this database but ${there} in the file. Nothing was imported.`,
    );
  }
  return rows;
}
