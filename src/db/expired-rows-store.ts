import type { Parameter, Queryable, Statement } from './database.ts';

/** Rows that a statement of housekeeping deletes at a time. */
export const DELETED_ROWS_MAX = 1000;

/** Deletes some rows whose time is over. Plan: the index of the table by `expires_at`. */
export const expiredRows = (name: string, table: string, key: string): Statement => ({
  name,
  text: `delete from ${table} where ${key} in (
  select ${key} from ${table} where expires_at <= $1::timestamptz order by expires_at limit ${DELETED_ROWS_MAX}
  for update skip locked
)
returning 1 as gone`,
});

/** Repeats a statement that deletes up to `DELETED_ROWS_MAX` rows and returns each, until none is left or the signal has aborted. */
export async function deleteInBatches(
  database: Queryable,
  statement: Statement,
  instant: Parameter,
  signal: AbortSignal,
): Promise<void> {
  let rows: unknown[];
  do rows = await database.query(statement, [instant]);
  while (rows.length === DELETED_ROWS_MAX && !signal.aborted);
}
