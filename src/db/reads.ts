import type { Parameter, Query, Statement } from './database.ts';

/** Picks the rows of one read out of the rows of all reads. */
export type RowsOf<Row> = (rows: readonly (readonly unknown[])[]) => readonly Row[];

/** The reads of a transaction, gathered one by one (`Database.readThenWrite`). */
export class Reads {
  readonly queries: Query[] = [];

  /** The caller states the row's shape. */
  add<Row>(statement: Statement, parameters: readonly Parameter[]): RowsOf<Row> {
    const place = this.queries.push({ statement, parameters }) - 1;
    return (rows) => rows[place] as readonly Row[];
  }

  /** As `add`, if the read is needed; else nothing is sent, and there are no rows. */
  addIf<Row>(isNeeded: boolean, statement: Statement, parameters: readonly Parameter[]): RowsOf<Row> {
    return isNeeded ? this.add<Row>(statement, parameters) : () => [];
  }
}
