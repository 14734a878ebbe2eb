import { type Command, InvalidArgumentError } from 'commander';
import { createAccountPartitionStore } from '../../accounting/partitions/account-partition-store.ts';
import { type DatabaseLocation, type Databases, describeDatabase } from '../../db/databases.ts';
import { requireCurrentSchema } from '../../db/migrate.ts';
import { readPartitionFacts } from '../../db/partition-facts-store.ts';
import { addPartition } from '../../db/partitions.ts';
import { readPartitions } from '../../db/partitions-store.ts';
import { type CommandKit, type CommandOptions, sayTo } from '../command.ts';
import { loadForBooks } from '../environment.ts';
import { createLogger } from '../log/logger.ts';
import type { Output } from '../output.ts';
import { openOwnDatabases } from '../own-database.ts';
import { renderTable } from '../table.ts';

/** `faregate db partitions` */
export function partitionCommands(db: Command, kit: CommandKit): void {
  const say = sayTo(kit.process);

  /** With the database that the configuration names, whose directory is of this version. */
  const withDatabases = (
    work: (
      databases: Databases,
      output: Output,
      location: DatabaseLocation,
      options: CommandOptions,
    ) => Promise<number>,
  ) =>
    kit.plain(async (flags, output, environment, _given, options) => {
      const location = loadForBooks(flags, environment).database;
      const databases = await openOwnDatabases(location, createLogger(environment), say);
      try {
        await requireCurrentSchema(databases.directory);
        return await work(databases, output, location, options);
      } finally {
        await databases.close();
      }
    });

  const partitions = db
    .command('partitions')
    .description('list the partitions of the database, over which accounts are spread')
    .action(
      withDatabases(async (databases, output, location) => {
        const found = await lookAtAll(databases);
        say(`database: ${await describeDatabase(location)}`);
        output.print(found, () => renderAll(found));
        return found.every(({ error }) => error === null) ? 0 : 1;
      }),
    );

  partitions
    .command('add')
    .description('make partitions, for new accounts; none can be taken away')
    .option('--count <number>', 'how many', readCount, 1)
    .action(
      withDatabases(async (databases, output, _location, { count }) => {
        const added: number[] = [];
        while (added.length < Number(count)) added.push(await addPartition(databases, { onWaiting: say }));
        output.print({ added, partitions: databases.partitions.length }, () =>
          [
            ...added.map((number) => `added partition ${number}`),
            'Restart gateways that run, one after the other if there are several: new accounts go there when none runs that was started before.',
          ].join('\n'),
        );
        return 0;
      }),
    );
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,2}$/.test(text) || count === 0) throw new InvalidArgumentError('Expected a whole number from 1 to 99.');
  return count;
}

/** A partition, as the command shows it. */
interface Listed {
  readonly number: number;
  /** `null`: that of the directory. */
  readonly schema: string | null;
  /** Whether new accounts may go there. */
  readonly takesAccounts: boolean;
  readonly accounts: number;
  /** `null` if it was not read. */
  readonly version: number | null;
  readonly sizeBytes: number | null;
  /** Why it could not be read. */
  readonly error: string | null;
}

/** Each is asked by itself, so that one that does not respond hides no other. */
async function lookAtAll({ directory, partitions }: Databases): Promise<Listed[]> {
  const store = createAccountPartitionStore(directory);
  const [rows, counts, taking] = await Promise.all([readPartitions(directory), store.count(), store.listTaking()]);
  return Promise.all(
    rows.map(async ({ number, schema }) => {
      const accounts = counts.find(({ partition }) => partition === number)?.accounts ?? 0;
      const known = { number, schema, takesAccounts: taking.includes(number), accounts };
      try {
        return { ...known, ...(await readPartitionFacts(partitions[number]!)), error: null };
      } catch (error) {
        return {
          ...known,
          version: null,
          sizeBytes: null,
          error: error instanceof Error ? error.message : String(error),
        };
      }
    }),
  );
}

function renderAll(found: readonly Listed[]): string {
  return renderTable(found, '', [
    { title: 'partition', cell: ({ number }) => String(number), align: 'right' },
    { title: 'schema', cell: ({ schema }) => schema ?? 'that of the directory' },
    { title: 'state', cell: stateOf },
    { title: 'accounts', cell: ({ accounts }) => String(accounts), align: 'right' },
    { title: 'version', cell: ({ version }) => (version === null ? '' : String(version)), align: 'right' },
    {
      title: 'size',
      cell: ({ sizeBytes }) => (sizeBytes === null ? '' : `${(sizeBytes / 1e6).toFixed(1)} MB`),
      align: 'right',
    },
  ]);
}

function stateOf({ takesAccounts, error }: Listed): string {
  if (error !== null) return `failed: ${error}`;
  return takesAccounts ? 'ready' : 'waits until gateways are restarted';
}
