import type { Logger } from '../lib/logger.ts';
import type { Database } from './database.ts';

export interface DatabaseLocation {
  /** A postgres:// address, or empty for the embedded engine. */
  readonly url: string;
  readonly dataDir: string;
}

export interface OpenOptions {
  /** Makes no embedded database where there is none. A server's database is never made here. */
  readonly mustExist?: boolean;
  /** Called once, if another process has to let go of an embedded database first. */
  readonly onWaiting?: (message: string) => void;
  /** Connections to a server for single statements that calls wait for; absent: what one process has. */
  readonly statementConnections?: number | undefined;
  /** How many partitions there will be, if that is more than there are: connections are shared out among as many. */
  readonly partitions?: number | undefined;
  /** Ends the waiting for that process. */
  readonly stopped?: AbortSignal | undefined;
  /** Does not wait for a gateway that serves an embedded database. */
  readonly unlessServed?: boolean;
}

/**
 * Opens the database that the configuration names: its directory, and the first partition. The engines are loaded only when used: PGlite is 27 MB of code.
 *
 * @throws NoDatabaseError if an embedded database must exist and does not.
 * @throws DataDirInUseError if another process keeps an embedded database.
 */
export async function openDatabase(
  location: DatabaseLocation,
  logger: Logger,
  options: OpenOptions = {},
): Promise<Database> {
  if (location.url !== '') {
    const [{ openPostgres }, { shareOfDirectory }] = await Promise.all([
      import('./postgres.ts'),
      import('./connection-shares.ts'),
    ]);
    const { statementConnections: max } = options;
    return openPostgres({ url: location.url, logger, share: max === undefined ? max : shareOfDirectory(1, max) });
  }
  const { openEmbedded } = await import('./embedded.ts');
  return openEmbedded({ dataDir: location.dataDir, logger, ...options });
}

/** The engine and the place of a database for messages, such as "embedded, in ./data"; without user and password. */
export async function describeDatabase(location: DatabaseLocation): Promise<string> {
  if (location.url === '') return `embedded, in ${location.dataDir}`;
  const { describePostgres } = await import('./postgres.ts');
  return describePostgres(location.url);
}
