// Instants and billing days are read from the database's clock, so that nodes with different clocks reach the same decisions.

/** SQL: the database's clock, or the parameter if it is not null. Constant within a statement. */
export const nowSql = (parameter: string): string => `coalesce(${parameter}::timestamptz, (select clock_timestamp()))`;

/** SQL: the column of `TimedRow`, in seconds. It is a number because drivers parse numbers ten times as fast as timestamps. */
export const NOW_COLUMN = `date_part('epoch', clock_timestamp()) as now_s`;

export interface TimedRow {
  readonly now_s: number;
}

/** Returns when the last row was read, in milliseconds since the Unix epoch; 0 if there are no rows. */
export function nowMsOf(rows: readonly TimedRow[]): number {
  return Math.floor((rows.at(-1)?.now_s ?? 0) * 1_000);
}
