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
import { Places } from './import-places.ts';
import type { ImportStore, ImportWriter } from './import-store.ts';
import { EXPORTED_TABLES, type ExportedTable, isExportedTable, PLACE_COLUMN } from './tables.ts';

/** What was imported, counted in the database after the last row. */
export interface Imported {
  readonly head: ExportHead;
  readonly end: ExportEnd;
  readonly rows: Readonly<Record<ExportedTable, number>>;
  /** Partitions that had what an interrupted import has left, which was removed. */
  readonly emptied: readonly number[];
  /** Accounts whose balance was not the sum of their entries already if they were exported. */
  readonly unsound: readonly string[];
}

interface ImportParts {
  readonly store: ImportStore;
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
const COMPARED_ACCOUNTS = 200;

/**
 * Writes an export into an empty database: everything, or nothing if the file is cut, damaged or of a version that is not read, or where the
 * sums of any account differ from those in the file. Accounts are spread over the partitions as new ones are. The directory, which says
 * what accounts there are, is committed last.
 *
 * @param lines without their ends
 * @throws TransferError if nothing was imported.
 */
export function importDatabase(
  lines: AsyncIterable<string>,
  { store, schema, onProgress }: ImportParts,
): Promise<Imported> {
  return store.import(async (writer) => {
    await requireEmpty(writer);
    const emptied = await writer.emptyFurther();
    const digest = new LineDigest();
    const batches = new Batches(writer);
    const sums = new AccountSums(writer, batches);
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
        await writer.sumUsageAnew();
      } else if (name === 'account_end') {
        await sums.add(parseJson(json) as AccountEnd);
        onProgress?.({ accounts: sums.count, of: head.accounts });
      } else if (isExportedTable(name)) {
        await batches.add(name, json);
      } else {
        throw new TransferError(`The file has rows of a table that this version does not know: ${name}.`);
      }
    }
    if (head === null || end === null) throw new TransferError(CUT);
    await sums.compare();
    await batches.write();
    await writer.addDroppedUsage();
    await requireOwners(writer);
    return { head, end, rows: await compareRows(writer, end, sums), emptied, unsound: sums.unsound };
  });
}

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

/** Columns that exports of older schemas may have and that an import ignores. */
const NOT_READ: ReadonlySet<string> = new Set([PLACE_COLUMN, 'low_balance_set_at']);

/** A table may have more columns here where the file is of an older schema. */
async function useColumns(writer: ImportWriter, head: ExportHead, schema: number): Promise<void> {
  for (const table of EXPORTED_TABLES) {
    const here = (await writer.columnsOf(table)).sort();
    const there = (head.tables[table] ?? []).filter((name) => !NOT_READ.has(name)).sort();
    const isRead = head.schema < schema ? there.every((name) => here.includes(name)) : isDeepStrictEqual(here, there);
    if (!isRead) {
      throw new TransferError(
        `The table ${table} has other columns in the file (${there.join(', ')}) than in this database (${here.join(', ')}).`,
      );
    }
    writer.useColumns(table, there);
  }
}

/** In the records of the database's own JSON; a quote inside of a text has a backslash before it. */
const STARTED_AT = /"started_at": ?"([^"]+)"/;

/** Rows that are to be written, in the order of their tables. */
class Batches {
  readonly places: Places;
  readonly #writer: ImportWriter;
  /** Of each table by places. */
  readonly #rows: ReadonlyMap<ExportedTable, string[][]>;
  readonly #months = new Set<string>();
  #bytes = 0;

  constructor(writer: ImportWriter) {
    this.#writer = writer;
    this.#rows = new Map(
      EXPORTED_TABLES.map((table) => [table, Array.from({ length: writer.partitions }, (): string[] => [])]),
    );
    this.places = new Places(writer.partitions, async (accountId) => {
      await this.write();
      return writer.placeOf(accountId);
    });
  }

  async add(table: ExportedTable, row: string): Promise<void> {
    const place = await this.places.ofRow(table, row);
    if (table === 'calls') await this.#prepareMonth(row, place);
    this.#rows.get(table)![place]!.push(row);
    this.#bytes += row.length;
    if (this.#bytes >= BATCH_BYTES) await this.write();
  }

  async write(): Promise<void> {
    for (const [table, byPlace] of this.#rows) {
      for (const [place, rows] of byPlace.entries()) {
        if (rows.length === 0) continue;
        await this.#writer.insert(table, rows, place);
        rows.length = 0;
      }
    }
    this.#bytes = 0;
  }

  async #prepareMonth(call: string, place: number): Promise<void> {
    const startedAt = new Date(STARTED_AT.exec(call)?.[1] ?? '');
    if (Number.isNaN(startedAt.getTime())) throw new TransferError(DAMAGED);
    const month = startedAt.toISOString().slice(0, 7);
    const name = `${month} ${place}`;
    if (this.#months.has(name)) return;
    await this.#writer.prepareMonth(month, place);
    this.#months.add(name);
  }
}

/** Compares what the file says of accounts with what the database has of them. */
class AccountSums {
  count = 0;
  readonly unsound: string[] = [];
  readonly #writer: ImportWriter;
  readonly #batches: Batches;
  #waiting: { readonly end: AccountEnd; readonly place: number }[] = [];

  constructor(writer: ImportWriter, batches: Batches) {
    this.#writer = writer;
    this.#batches = batches;
  }

  async add(end: AccountEnd): Promise<void> {
    this.count++;
    if (!isSound(end)) this.unsound.push(end.account);
    this.#waiting.push({ end, place: await this.#batches.places.of(end.account) });
    if (this.#waiting.length >= COMPARED_ACCOUNTS) await this.compare();
  }

  async compare(): Promise<void> {
    if (this.#waiting.length === 0) return;
    await this.#batches.write();
    for (const [place, waiting] of Map.groupBy(this.#waiting, (each) => each.place)) {
      const ends = waiting.map(({ end }) => end);
      const sums = await this.#writer.sums(
        ends.map(({ account }) => account),
        place,
      );
      compareSums(ends, new Map(sums.map((sum) => [sum.account, sum])));
    }
    this.#waiting = [];
  }
}

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

/** What foreign keys cannot say, because the two may be in different databases. */
async function requireOwners(writer: ImportWriter): Promise<void> {
  const stranger = await writer.findStranger();
  if (stranger === null) return;
  const { table, accountId, keyId } = stranger;
  const owner = keyId === '' ? `account ${accountId}` : `key ${keyId} of account ${accountId}`;
  throw new TransferError(`${DAMAGED} It has a row of ${table} of the ${owner}, which it does not have.`);
}

const FIELDS = ['balance', 'entries', 'entriesSum', 'calls', 'chargesSum'] as const;

async function compareRows(
  writer: ImportWriter,
  end: ExportEnd,
  sums: AccountSums,
): Promise<Record<ExportedTable, number>> {
  if (sums.count !== end.accounts)
    throw new TransferError(`${DAMAGED} It has ${sums.count} of ${end.accounts} accounts.`);
  const rows: Partial<Record<ExportedTable, number>> = {};
  for (const table of EXPORTED_TABLES) {
    const here = await writer.countRows(table);
    const there = end.rows[table] ?? 0;
    if (here !== there) {
      throw new TransferError(
        `The table ${table} has ${here} rows here and ${there} in the file. Nothing was imported.`,
      );
    }
    rows[table] = here;
  }
  return rows as Record<ExportedTable, number>;
}
