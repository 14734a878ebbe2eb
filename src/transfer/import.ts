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

/** What was imported, counted in the database after the last row. */
export interface Imported {
  readonly head: ExportHead;
  readonly end: ExportEnd;
  readonly rows: Readonly<Record<ExportedTable, number>>;
  /** Redemptions that were later than the state of their accounts, and were removed. */
  readonly lateRedemptions: number;
  /** Accounts whose balance was not the sum of their entries already if they were exported. */
  readonly unsound: readonly string[];
}

interface ImportParts {
  readonly directory: Parameters<typeof importInto>[0];
  /** The version of the schema of the database. */
  readonly schema: number;
  readonly onProgress?: (progress: { readonly accounts: number; readonly of: number }) => void;
}

/**
 * The oldest schema whose exports are read: columns and tables that later steps have added are what they are by default. A step
 * after which rows of before need more than that raises it to its own version.
 */
const SCHEMA_MIN = 44;
/** Rows in memory until they are written. */
const BATCH_BYTES = 512 * 1024;
/** The schema since which all that vouchers give has a key made of the code. */
const GIFTS_KEYED_SINCE = 48;
/** Columns that files of earlier schemas have, and that say nothing now. */
const GONE: Partial<Record<ExportedTable, string>> = {
  accounts: 'low_balance_set_at',
  voucher_redemptions: 'under_way_since',
};

/**
 * Writes an export into an empty database: everything, or nothing if the file is cut, damaged or of a version that is not read, or where the
 * sums of any account differ from those in the file. Accounts are spread evenly over the partitions.
 *
 * @param lines without their ends
 * @throws TransferError if nothing was imported.
 */
export function importDatabase(
  lines: AsyncIterable<string>,
  { directory, schema, onProgress }: ImportParts,
): Promise<Imported> {
  return importInto(directory, async (writer) => {
    await requireEmpty(writer);
    const digest = new LineDigest();
    const batches = new Batches(writer);
    let head: ExportHead | null = null;
    let end: ExportEnd | null = null;
    for await (const line of lines) {
      if (end !== null) throw new TransferError('The file goes on behind its end.');
      const { name, json } = readLine(line);
      if (name === 'end') {
        end = parseJson(json) as ExportEnd;
        if (end.sha256 !== digest.sha256) throw new TransferError(`${DAMAGED} Its digest does not fit.`);
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
      } else if (isUnderWay(name, json)) {
        throw new TransferError(UNDER_WAY);
      } else if (isExportedTable(name)) {
        await batches.add(name, json);
      } else {
        throw new TransferError(`The file has rows of a table that this version does not know: ${name}.`);
      }
    }
    if (head === null || end === null) throw new TransferError(CUT);
    await batches.write();
    await writer.sumUsageAnew();
    const rows = await compareRows(writer, end, batches.accounts);
    const lateRedemptions = head.schema < GIFTS_KEYED_SINCE ? 0 : await writer.removeLateRedemptions(head.exportedAt);
    return { head, end, rows, lateRedemptions, unsound: batches.unsound };
  });
}

/** Earlier versions made accounts and redeemed vouchers in steps, and exported what was between two of them. */
const isUnderWay = (name: string, json: string): boolean =>
  name === 'new_accounts' || (name === 'voucher_redemptions' && /"under_way_since": ?"/.test(json));

const UNDER_WAY =
  'When the file was written, an account was being created or a voucher redeemed, and only the Faregate that wrote the file can complete ' +
  'that. Import it with that version, start a gateway there, and export again once it serves; or take another file. Nothing was imported.';
const CUT =
  'The file is not complete: its last line is missing. Nothing was imported; export again, or take an earlier file.';
const DAMAGED = 'The file is damaged: nothing was imported; export again, or take an earlier file.';

async function requireEmpty(writer: ImportWriter): Promise<void> {
  await writer.lockTables();
  const nodes = await writer.runningNodes();
  if (nodes.length > 0) {
    throw new TransferError(
      `Gateways run on this database: ${nodes.join(', ')}. Stop them first; an import is for a new database.`,
    );
  }
  const filled = await writer.filledTables();
  if (filled.length === 0) return;
  throw new TransferError(
    `This database is not empty: ${filled.join(', ')}. An import fills a new one: name another directory with --data-dir, ` +
      'or create another database with createdb and name it in DATABASE_URL.',
  );
}

/** Whether the database is the demo's from now on: what is in the file stays the demo's, or does not become it. */
async function markOf({ isDemo }: ExportHead, writer: ImportWriter): Promise<boolean | null> {
  const isHere = await writer.isDemo();
  if (isHere === null || isHere === isDemo) return isDemo;
  if (isDemo === null && !isHere) return isHere;
  throw new TransferError(
    isHere
      ? 'This database is marked as demo, and the file is not of the demo. An import fills a new database: name another one.'
      : 'The file is an export of the demo, whose balances nobody has paid for, and a gateway that is not the demo has served ' +
          'this database. An import of it fills a new database: name another one.',
  );
}

function readHead(name: string, json: string, schema: number): ExportHead {
  if (name !== 'faregate_export') throw new TransferError('The file is no export of Faregate.');
  const head = parseJson(json) as ExportHead;
  if (head.format !== FORMAT) {
    throw new TransferError(
      `The file has format ${head.format}, and this version reads ${FORMAT}. Use the Faregate that wrote it.`,
    );
  }
  if (head.schema > schema) {
    throw new TransferError(
      `The file is of schema version ${head.schema}, but this program knows only ${schema}. Use a newer Faregate.`,
    );
  }
  if (head.schema < SCHEMA_MIN) {
    throw new TransferError(
      `The file is of schema version ${head.schema}, and this program reads none before ${SCHEMA_MIN}. Import it with the Faregate ` +
        `that wrote it. ${UPGRADE_FIRST}`,
    );
  }
  return head;
}

/** A table may have more columns here where the file is of an older schema. */
async function useColumns(writer: ImportWriter, head: ExportHead, schema: number): Promise<void> {
  const columnsHere = await writer.readColumns();
  for (const table of EXPORTED_TABLES) {
    const here = [...columnsHere[table]].sort();
    const isKnown = (name: string): boolean => name !== GONE[table];
    const there = (head.tables[table] ?? []).filter(isKnown).sort();
    const isRead = head.schema < schema ? there.every((name) => here.includes(name)) : isDeepStrictEqual(here, there);
    if (!isRead) {
      throw new TransferError(
        `The table ${table} has other columns in the file (${there.join(', ')}) than in this database (${here.join(', ')}).`,
      );
    }
    writer.useColumns(table, there);
  }
}

/** In the rows of the database's own JSON; a quote inside of a text has a backslash before it. */
const ID = /"id": ?"([^"]+)"/;
const ACCOUNT_ID = /"account_id": ?"([^"]+)"/;
const STARTED_AT = /"started_at": ?"([^"]+)"/;

const valueIn = (pattern: RegExp, row: string): string => pattern.exec(row)?.[1] ?? '';

/** Writes rows in the order of their tables, and compares what the file says of accounts with what the database has of them. */
class Batches {
  accounts = 0;
  readonly unsound: string[] = [];
  readonly #writer: ImportWriter;
  /** Of each table by places. */
  readonly #rows: Readonly<Record<ExportedTable, string[][]>>;
  #bytes = 0;
  readonly #months = new Set<string>();
  /** Rows of an account follow each other. */
  #last = { accountId: '', place: 0 };
  #placed = 0;
  /** Accounts whose rows are all written or in the batch. */
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

  /** Accounts are spread evenly; 0 for what belongs to no account of a partition. */
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
      throw new TransferError(`${DAMAGED} It has rows of the account ${accountId}, but not the account.`);
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
    const details = differences.map((field) => `${field} ${wanted[field]} in the file, ${is?.[field] ?? 'none'} here`);
    throw new TransferError(
      `The sums of account ${wanted.account} differ: ${details.join('; ')}. Nothing was imported.`,
    );
  }
}

/** Returns how many rows each table has. */
async function compareRows(writer: ImportWriter, end: ExportEnd, accounts: number): Promise<Imported['rows']> {
  if (accounts !== end.accounts) throw new TransferError(`${DAMAGED} It has ${accounts} of ${end.accounts} accounts.`);
  const rows = await writer.countRows();
  for (const [table, here] of Object.entries(rows)) {
    const there = end.rows[table] ?? 0;
    if (here === there) continue;
    throw new TransferError(`The table ${table} has ${here} rows here and ${there} in the file. Nothing was imported.`);
  }
  return rows;
}
