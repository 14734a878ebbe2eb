import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { readRecord, SUPERUSER } from '../src/db/local/cluster.ts';
import { knownPlace } from '../src/db/local/place.ts';
import { readTree } from './process-tree.ts';

/** Usage of a database server since it started. */
export interface DatabaseReading {
  /** All its processes. */
  readonly cpuMicros: number;
  /**
   * The number of the next writing transaction; reading ones take none. The difference of two readings is the number of commits between
   * them, unless transactions were rolled back. PostgreSQL's own counter (`pg_stat_database.xact_commit`) lags by up to ten seconds,
   * which is longer than a round of the bench.
   */
  readonly nextTransaction: number;
}

export interface DatabaseServer {
  /** Its first process, the parent of all others. */
  readonly pid: number;
  read(): Promise<DatabaseReading>;
  close(): Promise<void>;
}

const NEXT_TRANSACTION = 'select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next';

/** The running local server of a data directory; `null` for versions without one. */
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
