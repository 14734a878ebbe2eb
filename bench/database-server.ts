import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { readRecord, SUPERUSER } from '../src/db/local/cluster.ts';
import { knownPlace } from '../src/db/local/place.ts';
import { readTree } from './process-tree.ts';

/** What a database server has done since it started. */
export interface DatabaseReading {
  /** Of all its processes. */
  readonly cpuMicros: number;
  /**
   * The number that the next transaction that writes will take; one that only reads takes none. The difference of two readings is the
   * commits between them, if nothing was rolled back. PostgreSQL's own counter (`pg_stat_database.xact_commit`) is up to ten
   * seconds late, which is longer than a round of the bench.
   */
  readonly nextTransaction: number;
}

export interface DatabaseServer {
  /** Of its first process, the parent of the others. */
  readonly pid: number;
  read(): Promise<DatabaseReading>;
  close(): Promise<void>;
}

const NEXT_TRANSACTION = 'select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next';

/** The local server of a data directory, while it runs; `null` if the directory has none, as those of versions that had no server. */
export async function watchServer(dataDir: string): Promise<DatabaseServer | null> {
  const record = readRecord(dataDir);
  if (record === null) return null;
  const { cluster } = knownPlace(dataDir, record.home);
  const [pidLine, , , port, host] = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  const pid = Number(pidLine);
  const { password } = record;
  const client = new pg.Client({ host: host!, port: Number(port), user: SUPERUSER, password, database: 'postgres' });
  await client.connect();
  return {
    pid,
    async read() {
      const { cpuMicros } = readTree(pid);
      const { rows } = await client.query<{ next: number }>(NEXT_TRANSACTION);
      return { cpuMicros, nextTransaction: rows[0]!.next };
    },
    close: () => client.end(),
  };
}
