/**
 * What a PostgreSQL server does in background processes, which the embedded engine does not have: vacuum makes the space of
 * deleted rows usable again, and checkpoints bound the log that a start after a crash reads. Without vacuum every call leaves
 * some 200 bytes in the table of reservations and its index for good; without checkpoints, some 2.5 KB of log.
 */
interface HousekeptEngine {
  exec(sql: string): Promise<{ rows: Record<string, unknown>[] }[]>;
}

/** A vacuum takes 10 ms, and 6 more for each 20,000 deleted rows; nothing else runs meanwhile. */
const DEAD_ROWS_MIN = 2_000;
/** In addition, this part of the live rows, as on a server. */
const DEAD_ROWS_PART = 0.2;
/** A checkpoint takes 20 ms at most, since there are 16 MB of buffers to be written. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

/** Of all schemas. */
const CROWDED_TABLES = `select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
where n_dead_tup > ${DEAD_ROWS_MIN} + ${DEAD_ROWS_PART} * n_live_tup`;

const LOG_BYTES =
  'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()';

/** Does what is due. Other statements run between two steps. */
export async function keepEmbeddedHouse(engine: HousekeptEngine): Promise<void> {
  for (const { name } of await rows<{ name: string }>(engine, CROWDED_TABLES)) await engine.exec(`vacuum ${name}`);
  const [log] = await rows<{ bytes: number }>(engine, LOG_BYTES);
  if (log!.bytes > LOG_BYTES_MAX) await engine.exec('checkpoint');
}

async function rows<Row>(engine: HousekeptEngine, sql: string): Promise<Row[]> {
  return (await engine.exec(sql))[0]!.rows as Row[];
}
