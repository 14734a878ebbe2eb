import { createAccountPartitionStore } from '../../accounting/partitions/account-partition-store.ts';
import { EXPORT_PATH } from '../../api/export/admin.ts';
import { streamFromGateway } from '../../api/management/admin-client.ts';
import { createAuditLog } from '../../changes/audit-log.ts';
import { changeElsewhere } from '../../changes/change.ts';
import { createChangesStore } from '../../changes/changes-store.ts';
import type { Environment } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { type DatabaseLocation, describeDatabase } from '../../db/databases.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { schemaVersion } from '../../db/migrations.ts';
import { makePartitions, migrateAll } from '../../db/partitions.ts';
import { systemClock } from '../../lib/clock.ts';
import { createIds } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { exportDatabase } from '../../transfer/export.ts';
import type { ExportEnd } from '../../transfer/format.ts';
import { type Imported, importDatabase } from '../../transfer/import.ts';
import { EXPORTED_TABLES } from '../../transfer/tables.ts';
import { CliError, type CliProcess, type GlobalFlags, sayTo } from '../command.ts';
import type { CommandRows } from '../command-rows.ts';
import { loadForBooks } from '../environment.ts';
import { localUserName } from '../local-user.ts';
import { createQuietLogger } from '../log/logger.ts';
import type { Output } from '../output.ts';
import { openBooks, openOrCreateOwnDatabases, type ServingGateway, withDatabases } from '../own-database.ts';
import { withProgress } from '../progress.ts';
import { columnsOf, renderTable } from '../table.ts';
import { locateGateway } from '../with-admin.ts';
import { readExport, STANDARD, type Written, writeExport } from './export-file.ts';

export const transferCommands: CommandRows = {
  'export <file>': {
    about: 'export a whole database to a file, also while a gateway serves it; "-" is standard output',
    with: { '<file>': 'compressed if the name ends in .gz; the file contains stored responses, so keep it private' },
    runs: async (flags, output, { file }, process) =>
      exportTo(String(file), exportSource(flags, process.environment), output, process),
  },
  'backup <file>': {
    about: 'export the local database while the gateway serves it (PostgreSQL has pg_dump: docs/moving.md)',
    with: { '<file>': 'the file, as for faregate db export' },
    async runs(flags, output, { file }, process) {
      const { database } = loadForBooks(flags, process.environment);
      if (database.url === '') return exportTo(String(file), database, output, process);
      throw new CliError(
        'This database is on a PostgreSQL server, which has backup tools of its own: pg_dump, or a base backup with its log for ' +
          'any point in time. docs/moving.md has the commands. "faregate db export" works too.',
      );
    },
  },
  'import <file>': {
    about: 'import an export into an empty database, completely or not at all; creates a local database if none exists',
    with: { '<file>': 'a file that "faregate db export" wrote; "-" is standard input' },
    async runs(flags, output, { file }, process) {
      const { database } = loadForBooks(flags, process.environment);
      const imported = await importFrom(String(file), database, process);
      output.print(imported, describeImport);
      return imported.unsound.length === 0 ? 0 : 1;
    },
  },
};

/** Finds the source of an export. For a gateway that `--gateway` names, the token needs only the scope `export`. */
function exportSource(flags: GlobalFlags, environment: Environment): ServingGateway | DatabaseLocation {
  const { gateway } = flags;
  return gateway === undefined ? loadForBooks(flags, environment).database : locateGateway(gateway, environment);
}

async function exportTo(
  file: string,
  source: ServingGateway | DatabaseLocation,
  output: Output,
  process: CliProcess,
): Promise<number> {
  let accounts = 0;
  const written = await withProgress(process, (progress) => {
    const onChunk = (chunk: Buffer): void => {
      accounts += countAccounts(chunk);
      progress.show(`${accounts} accounts`, chunk.length);
    };
    return fromSource(source, process, (chunks) => writeExport(file, chunks, process, onChunk));
  });
  const text = describeExport(file, written);
  if (file === STANDARD) process.writeError(`${text}\n`);
  else output.print({ file, ...written }, () => text);
  if (written.end.unsoundAccounts === 0) return 0;
  process.writeError(`${written.end.unsoundAccounts} accounts are inconsistent. See: faregate audit\n`);
  return 1;
}

/** Exports from the named gateway, from the gateway that serves the database, or from the database itself. */
async function fromSource<Result>(
  location: ServingGateway | DatabaseLocation,
  process: CliProcess,
  work: (chunks: AsyncIterable<Uint8Array | string>) => Promise<Result>,
): Promise<Result> {
  if ('adminToken' in location) {
    sayTo(process)(`gateway: ${location.url}`);
    return work(await streamFromGateway(location.url, location.adminToken, EXPORT_PATH));
  }
  const name = await describeDatabase(location);
  const say = sayTo(process);
  const books = await openBooks(location, createQuietLogger(process.environment), say);
  if ('gateway' in books) {
    const { url, adminToken } = books.gateway;
    say(`database: ${name}, through the gateway on ${url}`);
    return work(await streamFromGateway(url, adminToken, EXPORT_PATH));
  }
  return withDatabases(Promise.resolve(books.databases), ({ directory }) => {
    say(`database: ${name}`);
    return work(exportDatabase({ directory, schema: schemaVersion(), clock: systemClock }));
  });
}

async function importFrom(file: string, location: Config['database'], process: CliProcess): Promise<Imported> {
  const logger = createQuietLogger(process.environment);
  const say = sayTo(process);
  const { partitions } = location;
  const databases = await openOrCreateOwnDatabases(location, logger, say, { partitions });
  const database = databases.directory;
  try {
    say(`database: ${await describeDatabase(location)}`);
    const waits = { onWaiting: say };
    await migrateAll(databases, waits);
    // Partitions are created before the import, because accounts never move to partitions that are added later.
    if ((await createAccountPartitionStore(database).count()).length === 0)
      await makePartitions(databases, partitions, waits);
    const imported = await withProgress(process, (progress) =>
      importDatabase(readExport(file, process), {
        directory: database,
        schema: schemaVersion(),
        onProgress: ({ accounts, of }) => progress.show(`${accounts} of ${of} accounts`),
      }),
    );
    // The import is committed, so if this fails, the failure is only logged.
    await noteImport(database, imported, logger).catch((error: unknown) => {
      logger.error({ err: error }, 'failed to record the import in the audit log');
    });
    return imported;
  } finally {
    await database.close();
  }
}

/** Records an import in the audit log, which is now that of the old database. */
async function noteImport(directory: DirectoryPool, { end, head }: Imported, logger: Logger): Promise<void> {
  const ids = createIds(systemClock);
  const log = createAuditLog({ store: createChangesStore(directory), clock: systemClock, ids, logger });
  const change = changeElsewhere('command_line', 'db.import', 'database', head.identity, localUserName());
  await log.note(change, { accounts: end.accounts, exportedAt: head.exportedAt });
}

const ACCOUNT_END = Buffer.from('{"account_end":');

/** Counts accounts for the progress line. It misses one whose end is split between chunks. */
function countAccounts(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(ACCOUNT_END); at >= 0; at = chunk.indexOf(ACCOUNT_END, at + 1)) count++;
  return count;
}

function describeExport(file: string, { end, sizeBytes }: Written): string {
  const rows = Object.values(end.rows).reduce((sum, count) => sum + count, 0);
  return [
    `Exported ${end.accounts} accounts, ${rows} rows (${(sizeBytes / 1e6).toFixed(1)} MB of text) to ${file === STANDARD ? 'standard output' : file}.`,
    describeSums(end),
  ].join('\n');
}

function describeSums({ balances, entriesSum, chargesSum }: ExportEnd): string {
  const yuan = (nano: string): string => formatYuan(BigInt(nano));
  return `Balances ¥${yuan(balances)}, ledger entries ¥${yuan(entriesSum)}, charges of calls ¥${yuan(chargesSum)}.`;
}

function describeImport({ end, rows, lateRedemptions, unsound }: Imported): string {
  const tables = EXPORTED_TABLES.map((table) => ({ table, inFile: end.rows[table] ?? 0, here: rows[table] }));
  const table = renderTable(tables, '', columnsOf<(typeof tables)[number]>('table', 'in the file: inFile', 'here'));
  const compared = `Imported ${end.accounts} accounts; the balance, ledger and charges of each match the file.`;
  const removed = `Vouchers that can be redeemed again, because they were redeemed while the export began: ${lateRedemptions}.`;
  const problem = `Accounts that were inconsistent before the export, see "faregate audit": ${unsound.slice(0, 20).join(', ')}`;
  return [
    table,
    '',
    ...(lateRedemptions === 0 ? [] : [removed]),
    compared,
    describeSums(end),
    ...(unsound.length === 0 ? [] : [problem]),
  ].join('\n');
}
