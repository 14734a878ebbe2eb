/**
 * Which instant it is, and which billing day: the database's clock says so, so that nodes whose clocks differ decide alike and
 * none pushes a window or a day ahead for the others.
 */

/** SQL: the database's clock, or the instant of a parameter if that is not null. Constant within a statement. */
export const nowSql = (parameter: string): string => `coalesce(${parameter}::timestamptz, (select clock_timestamp()))`;

/** SQL: a column of `TimedRow`. A number, because drivers parse it in a tenth of the time of a timestamp. */
export const NOW_COLUMN = `date_part('epoch', clock_timestamp()) as now_s`;

/** A row that says when it was read. */
export interface TimedRow {
  readonly now_s: number;
}

/** The instant at which the last row was read; 0 if there is none, and so nothing to decide. */
export function nowMsOf(rows: readonly TimedRow[]): number {
  return Math.floor((rows.at(-1)?.now_s ?? 0) * 1_000);
}
