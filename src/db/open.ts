export interface DatabaseLocation {
  /** A postgres:// address, or empty for the local server of `dataDir` (`local/local-server.ts`). */
  readonly url: string;
  readonly dataDir: string;
  /** The directory with the programs of PostgreSQL for the local server; absent: those that are installed with Faregate. */
  readonly binaries?: string | undefined;
}

export interface OpenOptions {
  /** Makes no local database where there is none. A server's database is never made here. */
  readonly mustExist?: boolean;
  /** Called once, if another process has to release the local database first. */
  readonly onWaiting?: (message: string) => void;
  /** Connections to a server for single statements that calls wait for; absent: what one process has. */
  readonly statementConnections?: number | undefined;
  /** How many partitions there will be, if that is more than there are: connections are shared out among as many. */
  readonly partitions?: number | undefined;
  /** Ends the waiting for that process. */
  readonly stopped?: AbortSignal | undefined;
  /** Does not wait for a gateway that serves the local database. */
  readonly unlessServed?: boolean;
}

/** The place of a database for messages, such as "local, in ./data"; without user and password. */
export async function describeDatabase(location: DatabaseLocation): Promise<string> {
  if (location.url === '') return `local, in ${location.dataDir}`;
  const { describePostgres } = await import('./postgres.ts');
  return describePostgres(location.url);
}
