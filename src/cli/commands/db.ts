import { describeDatabase } from '../../db/databases.ts';
import { migrationState } from '../../db/migrate.ts';
import { migrateAll } from '../../db/partitions.ts';
import { sayTo } from '../command.ts';
import { group } from '../command-rows.ts';
import { loadForBooks } from '../environment.ts';
import { localTime } from '../local-time.ts';
import { createLogger } from '../log/logger.ts';
import { localServerUrl, openOrCreateOwnDatabases, openOwnDatabases, withDatabases } from '../own-database.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';
import { partitionCommands } from './partitions.ts';
import { transferCommands } from './transfer.ts';

type MigrationState = Awaited<ReturnType<typeof migrationState>>[number];

const MIGRATION_COLUMNS: readonly Column<MigrationState>[] = [
  ...columnsOf<MigrationState>('version', 'name'),
  { title: 'applied', cell: (row) => localTime(row.appliedAt?.toISOString() ?? 'not yet') },
];

const ABOUT = 'show and migrate the schema of the database, and its partitions; export, import and back it up';

export const databaseCommands = group('db', ABOUT, {
  ...transferCommands,
  ...partitionCommands,
  migrate: {
    about: 'create the database if there is none, and bring its schema up to date (the gateway does so at start)',
    async runs(flags, output, _given, process) {
      const { environment } = process;
      const say = sayTo(process);
      const location = loadForBooks(flags, environment).database;
      await withDatabases(openOrCreateOwnDatabases(location, createLogger(environment), say), async (databases) => {
        const applied = await migrateAll(databases, { onWaiting: say });
        say(`database: ${await describeDatabase(location)}`);
        // Partition 0 is not named: it is in the schema of the directory.
        const listed = applied.map(({ partition, ...step }) => (partition === 0 ? step : { ...step, partition }));
        const lines = applied.map(
          ({ partition, version, name }) =>
            `applied ${version} ${name}${partition === 0 ? '' : ` in partition ${partition}`}`,
        );
        output.print(listed, () => lines.join('\n') || 'The schema is up to date.');
      });
    },
  },
  url: {
    about: 'print the address of the database, with its password, for psql and other tools',
    async runs(flags, output, _given, { environment }) {
      const { url, dataDir } = loadForBooks(flags, environment).database;
      const address = url === '' ? localServerUrl(dataDir) : url;
      output.print({ url: address }, () => address);
    },
  },
  status: {
    about: 'show which migrations of the schema have been applied',
    async runs(flags, output, _given, process) {
      const { environment } = process;
      const say = sayTo(process);
      const location = loadForBooks(flags, environment).database;
      await withDatabases(openOwnDatabases(location, createLogger(environment), say), async (databases) => {
        const states = await migrationState(databases.directory);
        say(`database: ${await describeDatabase(location)}`);
        output.print(states, () => renderTable(states, 'This program has no migrations.', MIGRATION_COLUMNS));
      });
    },
  },
});
