import type { Command } from 'commander';
import { describeDatabase } from '../../db/databases.ts';
import { migrationState } from '../../db/migrate.ts';
import { migrateAll } from '../../db/partitions.ts';
import { type CommandKit, sayTo } from '../command.ts';
import { loadForBooks } from '../environment.ts';
import { localTime } from '../local-time.ts';
import { createLogger } from '../log/logger.ts';
import { localServerUrl, openOrCreateOwnDatabases, openOwnDatabases } from '../own-database.ts';
import { printTable } from '../table.ts';
import { partitionCommands } from './partitions.ts';
import { transferCommands } from './transfer.ts';

/** The first one is in the schema of the directory, whose steps are its own. */
const inPartition = (partition: number): string => (partition === 0 ? '' : ` in partition ${partition}`);

/** `faregate db …` */
export function databaseCommands(program: Command, kit: CommandKit): void {
  const say = sayTo(kit.process);
  const db = program
    .command('db')
    .description('show and migrate the schema of the database, and its partitions; export, import and back it up');

  transferCommands(db, kit);
  partitionCommands(db, kit);

  db.command('migrate')
    .description('create the database if there is none, and bring its schema up to date (the gateway does so at start)')
    .action(
      kit.plain(async (flags, output, environment) => {
        const location = loadForBooks(flags, environment).database;
        const databases = await openOrCreateOwnDatabases(location, createLogger(environment), say);
        try {
          const applied = await migrateAll(databases, { onWaiting: say });
          say(`database: ${await describeDatabase(location)}`);
          const ofFirst = ({ version, name }: { version: number; name: string }) => ({ version, name });
          const steps = applied.map((step) => (step.partition === 0 ? ofFirst(step) : step));
          output.print(steps, () =>
            applied.length === 0
              ? 'The schema is up to date.'
              : applied
                  .map(({ partition, version, name }) => `applied ${version} ${name}${inPartition(partition)}`)
                  .join('\n'),
          );
        } finally {
          await databases.close();
        }
      }),
    );

  db.command('url')
    .description('print the address of the database, with its password, for psql and other tools')
    .action(
      kit.plain(async (flags, output, environment) => {
        const { url, dataDir } = loadForBooks(flags, environment).database;
        const address = url === '' ? localServerUrl(dataDir) : url;
        output.print({ url: address }, () => address);
      }),
    );

  db.command('status')
    .description('show which steps of the schema have been applied')
    .action(
      kit.plain(async (flags, output, environment) => {
        const location = loadForBooks(flags, environment).database;
        const databases = await openOwnDatabases(location, createLogger(environment), say);
        try {
          const states = await migrationState(databases.directory);
          say(`database: ${await describeDatabase(location)}`);
          printTable(output, states, 'This program has no migrations.', [
            { title: 'step', cell: (row) => String(row.version), align: 'right' },
            { title: 'name', cell: (row) => row.name },
            { title: 'applied', cell: (row) => localTime(row.appliedAt?.toISOString() ?? 'not yet') },
          ]);
        } finally {
          await databases.close();
        }
      }),
    );
}
