// This file reads the database's clock, which determines instants and billing days, so that nodes with different clocks decide alike.

/** SQL: the parameter if it is not null, otherwise the database's clock. Constant within a statement. */
export const nowSql = (parameter: string): string => `coalesce(${parameter}::timestamptz, (select clock_timestamp()))`;

/** SQL: the time in seconds. Drivers parse numbers ten times as fast as timestamps. */
export const NOW_COLUMN = `date_part('epoch', clock_timestamp()) as now_s`;

export interface TimedRow {
  readonly now_s: number;
}

/** Time at which the last row was read, in milliseconds since the Unix epoch; 0 if there are no rows. */
export function nowMsOf(rows: readonly TimedRow[]): number {
  return Math.floor((rows.at(-1)?.now_s ?? 0) * 1_000);
}
