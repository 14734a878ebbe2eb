import type { Parameter, Queryable, Statement } from './database.ts';

/** Maximum number of rows that a housekeeping statement deletes at a time. */
export const DELETED_ROWS_MAX = 1000;

/** Deletes a batch of expired rows. Uses the table's index on `expires_at`. */
export const expiredRows = (name: string, table: string, key: string): Statement => ({
  name,
  text: `delete from ${table} where ${key} in (
  select ${key} from ${table} where expires_at <= $1::timestamptz order by expires_at limit ${DELETED_ROWS_MAX}
  for update skip locked
)
returning 1 as gone`,
});

/** Deletes a batch of rows before an instant or a day, by the type of `column`. Uses the table's index that begins with it. */
export const rowsBefore = (name: string, table: string, column: string, type: 'date' | 'timestamptz'): Statement => ({
  name,
  text: `delete from ${table} where ctid = any (array(
  select ctid from ${table} where ${column} < $1::${type} limit ${DELETED_ROWS_MAX}
)) returning 1 as n`,
});

/** Repeats a statement that deletes and returns up to `DELETED_ROWS_MAX` rows, until no row is left or the signal aborts. */
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
