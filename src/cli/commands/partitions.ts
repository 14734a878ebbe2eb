import { InvalidArgumentError } from 'commander';
import { createAccountPartitionStore } from '../../accounting/partitions/account-partition-store.ts';
import { type Databases, describeDatabase } from '../../db/databases.ts';
import { requireCurrentSchema } from '../../db/migrate.ts';
import { readPartitionFacts } from '../../db/partition-facts-store.ts';
import { addPartition } from '../../db/partitions.ts';
import { readPartitions } from '../../db/partitions-store.ts';
import { type CliProcess, type GlobalFlags, sayTo } from '../command.ts';
import type { CommandRows, Given } from '../command-rows.ts';
import { loadForBooks } from '../environment.ts';
import { createLogger } from '../log/logger.ts';
import type { Output } from '../output.ts';
import { openOwnDatabases, withDatabases } from '../own-database.ts';
import { columnsOf, renderTable } from '../table.ts';

type PartitionWork = (
  databases: Databases,
  output: Output,
  given: Given,
  say: (line: string) => void,
) => Promise<number>;

/** Opens the configured database, whose directory must have the schema of this version of the program. */
const onDatabases =
  (work: PartitionWork) =>
  (flags: GlobalFlags, output: Output, given: Given, process: CliProcess): Promise<number> => {
    const { environment } = process;
    const say = sayTo(process);
    const location = loadForBooks(flags, environment).database;
    return withDatabases(openOwnDatabases(location, createLogger(environment), say), async (databases) => {
      await requireCurrentSchema(databases.directory);
      say(`database: ${await describeDatabase(location)}`);
      return work(databases, output, given, say);
    });
  };

export const partitionCommands: CommandRows = {
  partitions: {
    about: 'list the partitions of the database, over which accounts are spread',
    runs: onDatabases(async (databases, output) => {
      const found = await listPartitions(databases);
      output.print(found, () => renderPartitions(found));
      return found.every(({ error }) => error === null) ? 0 : 1;
    }),
    rows: {
      add: {
        about: 'create partitions for new accounts; partitions cannot be removed',
        with: { '--count <number>': { text: 'how many', parse: readCount, default: 1 } },
        runs: onDatabases(async (databases, output, { count }, say) => {
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
      },
    },
  },
};

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,2}$/.test(text) || count === 0) throw new InvalidArgumentError('Expected a whole number from 1 to 99.');
  return count;
}

type ListedPartition = Awaited<ReturnType<typeof listPartitions>>[number];

/** Lists partitions. Each one is read separately, so that one that does not respond does not hide the others. */
async function listPartitions({ directory, partitions }: Databases) {
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
    ...columnsOf<ListedPartition>('partition: number'),
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
