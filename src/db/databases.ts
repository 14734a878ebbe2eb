import type { Logger } from '../lib/logger.ts';
import { hasCitus } from './citus.ts';
import { shareOfDirectory, shareOfPartition } from './connection-shares.ts';
import type { ConnectionFigures, Database } from './database.ts';
import { isTableThere } from './migrate.ts';
import { type PartitionRow, readPartitions, readSchemaOf } from './partitions-store.ts';
import { STATEMENT_CONNECTIONS_MAX } from './pools.ts';

export interface DatabaseLocation {
  /** URL such as `postgres://…`; empty: the local server of `dataDir` (`local/local-server.ts`). */
  readonly url: string;
  readonly dataDir: string;
  /** Directory of PostgreSQL programs for the local server; absent: those that were installed with Faregate. */
  readonly binaries?: string | undefined;
}

export interface OpenOptions {
  /** Whether to fail if the local database does not exist. */
  readonly mustExist?: boolean;
  readonly onWaiting?: (message: string) => void;
  /** Maximum number of connections for single statements of calls; absent: the default for one process. */
  readonly statementConnections?: number | undefined;
  /** The planned number of partitions, if it is greater than the present one. Connections are divided by it. */
  readonly partitions?: number | undefined;
  readonly stopped?: AbortSignal | undefined;
  readonly unlessServed?: boolean;
}

/** The directory and its partitions (`homes.ts`). Each one is a schema with its own connections, which see only this schema. */
export interface Databases {
  /** Closing the directory closes the partitions too. */
  readonly directory: Database;
  /** Partitions in the order of their numbers. The first one is the same `Database` as the directory. */
  readonly partitions: readonly Database[];
  /** Opens the schema of a further partition, and adds it at the end of the list. */
  openNext(schema: string): Database;
  /** URL of the local server; `null` if the database is elsewhere. */
  readonly localUrl: string | null;
  /** Returns figures of all connection pools. Their names contain the partition, except for the first one. */
  figures(): readonly ConnectionFigures[];
  close(): Promise<void>;
}

/**
 * Opens the configured database and its partitions. `partitions.ts` checks their schemas.
 *
 * @throws NoDatabaseError if the local database must exist but does not, DataDirInUseError if another process uses it.
 * @throws if the server cannot be reached.
 */
export async function openDatabases(
  location: DatabaseLocation,
  logger: Logger,
  options: OpenOptions = {},
): Promise<Databases> {
  return location.url === ''
    ? openLocalDatabases(location, logger, options)
    : openPostgresDatabases(location.url, logger, options);
}

async function openLocalDatabases(
  { dataDir, binaries }: DatabaseLocation,
  logger: Logger,
  options: OpenOptions,
): Promise<Databases> {
  const { startLocalServer } = await import('./local/local-server.ts');
  const server = await startLocalServer({ dataDir, binaries: binaries ?? null, logger, ...options });
  try {
    const databases = await openPostgresDatabases(server.url, logger, options);
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> => (closing ??= databases.close().finally(() => server.stop()));
    return { ...databases, directory: { ...databases.directory, close }, localUrl: server.url, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function openPostgresDatabases(url: string, logger: Logger, options: OpenOptions): Promise<Databases> {
  const { statementConnections: statementsMax = STATEMENT_CONNECTIONS_MAX, partitions: expected = 1 } = options;
  const { openPostgres } = await import('./postgres.ts');
  const openDirectory = (count: number): Database =>
    openPostgres({ url, logger, share: shareOfDirectory(count, statementsMax) });
  let directory = openDirectory(expected);
  const known = await orClosed(directory, knownPartitions);
  const count = Math.max(known.length, expected);
  if (count > expected) {
    await directory.close();
    directory = openDirectory(count);
  }
  const isOnCitus = await orClosed(directory, hasCitus);
  const { schema: directorySchema } = await orClosed(directory, readSchemaOf);
  const share = shareOfPartition(count, statementsMax);
  return assemble(directory, known, (schema) =>
    openPostgres({ url, logger, schema, directorySchema: directorySchema ?? undefined, share, isOnCitus }),
  );
}

/** Reads the registered partitions; none for a database without a schema, or from a version without partitions. */
async function knownPartitions(directory: Database): Promise<readonly PartitionRow[]> {
  return (await isTableThere(directory, 'partitions')) ? readPartitions(directory) : [];
}

async function orClosed<Result>(database: Database, work: (database: Database) => Promise<Result>): Promise<Result> {
  try {
    return await work(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function assemble(
  opened: Database,
  known: readonly PartitionRow[],
  openSchema: (schema: string) => Database,
): Databases {
  let closing: Promise<void> | null = null;
  const further = known.slice(1).map(({ schema }) => openSchema(schema!));
  async function closeAll(): Promise<void> {
    await Promise.all([...further, opened].map((each) => each.close()));
  }
  const close = (): Promise<void> => (closing ??= closeAll());
  const directory: Database = { ...opened, close };
  const partitions = [directory, ...further];
  return {
    directory,
    partitions,
    openNext(schema) {
      const next = openSchema(schema);
      further.push(next);
      partitions.push(next);
      return next;
    },
    localUrl: null,
    figures: () => [opened.figures(), ...further.map(namedFigures)].flat(),
    close,
  };
}

const namedFigures = (partition: Database, at: number): ConnectionFigures[] =>
  partition.figures().map((figures) => ({ ...figures, name: `${figures.name} of partition ${at + 1}` }));

/** Describes a database for messages, such as "local, in ./data", without user and password. */
export async function describeDatabase(location: DatabaseLocation): Promise<string> {
  if (location.url === '') return `local, in ${location.dataDir}`;
  const { describePostgres } = await import('./postgres.ts');
  return describePostgres(location.url);
}
