import { type Command, InvalidArgumentError } from 'commander';
import { createAccountPartitionStore } from '../../accounting/partitions/account-partition-store.ts';
import { type Databases, describeDatabase } from '../../db/databases.ts';
import { requireCurrentSchema } from '../../db/migrate.ts';
import { readPartitionFacts } from '../../db/partition-facts-store.ts';
import { addPartition } from '../../db/partitions.ts';
import { readPartitions } from '../../db/partitions-store.ts';
import { sayTo } from '../command.ts';
import { loadForBooks } from '../environment.ts';
import { addCommand, type CommandKit, type Given } from '../kit.ts';
import { createLogger } from '../log/logger.ts';
import type { Output } from '../output.ts';
import { openOwnDatabases, withDatabases } from '../own-database.ts';
import { columnsOf, renderTable } from '../table.ts';

export function partitionCommands(db: Command, kit: CommandKit): void {
  const { environment } = kit.process;
  const say = sayTo(kit.process);

  /** Opens the configured database, whose directory must have the schema version of this program. */
  const onDatabases = (work: (databases: Databases, output: Output, given: Given) => Promise<number>) =>
    kit.plain((flags, output, given) => {
      const location = loadForBooks(flags, environment).database;
      return withDatabases(openOwnDatabases(location, createLogger(environment), say), async (databases) => {
        await requireCurrentSchema(databases.directory);
        say(`database: ${await describeDatabase(location)}`);
        return work(databases, output, given);
      });
    });

  const partitions = addCommand(
    db,
    'partitions',
    'list the partitions of the database, over which accounts are spread',
  ).action(
    onDatabases(async (databases, output) => {
      const found = await listPartitions(databases);
      output.print(found, () => renderPartitions(found));
      return found.every(({ error }) => error === null) ? 0 : 1;
    }),
  );

  addCommand(partitions, 'add', 'create partitions for new accounts; partitions cannot be removed')
    .option('--count <number>', 'how many', readCount, 1)
    .action(
      onDatabases(async (databases, output, { count }) => {
        const added: number[] = [];
        while (added.length < Number(count)) added.push(await addPartition(databases, { onWaiting: say }));
        output.print({ added, partitions: databases.partitions.length }, () =>
          [
            ...added.map((number) => `added partition ${number}`),
            'Restart all running gateways, one after the other. New accounts are created in these partitions after the last restart.',
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

interface ListedPartition {
  readonly number: number;
  /** Name of its schema; `null` for the schema of the directory. */
  readonly schema: string | null;
  /** Whether new accounts may be created in it. */
  readonly takesAccounts: boolean;
  readonly accounts: number;
  /** Schema version; it and the size are `null` if the partition could not be read. */
  readonly version: number | null;
  readonly sizeBytes: number | null;
  readonly error: string | null;
}

/** Reads each partition separately, so that one that does not respond does not hide the others. */
async function listPartitions({ directory, partitions }: Databases): Promise<ListedPartition[]> {
  const store = createAccountPartitionStore(directory);
  const [rows, counts, taking] = await Promise.all([readPartitions(directory), store.count(), store.listTaking()]);
  return Promise.all(
    rows.map(async ({ number, schema }) => {
      const accounts = counts.find(({ partition }) => partition === number)?.accounts ?? 0;
      const known = { number, schema, takesAccounts: taking.includes(number), accounts };
      try {
        return { ...known, ...(await readPartitionFacts(partitions[number]!)), error: null };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return { ...known, version: null, sizeBytes: null, error: message };
      }
    }),
  );
}

function renderPartitions(found: readonly ListedPartition[]): string {
  return renderTable(found, '', [
    { title: 'partition', cell: ({ number }) => String(number) },
    { title: 'schema', cell: ({ schema }) => schema ?? 'directory' },
    { title: 'state', cell: describeState },
    ...columnsOf<ListedPartition>('accounts', 'version'),
    { title: 'size', cell: ({ sizeBytes }) => (sizeBytes === null ? '' : `${(sizeBytes / 1e6).toFixed(1)} MB`) },
  ]);
}

function describeState({ takesAccounts, error }: ListedPartition): string {
  if (error !== null) return `failed: ${error}`;
  return takesAccounts ? 'ready' : 'waits until gateways are restarted';
}
