import type { ForeignDatabase, LeftOut } from './foreign-books.ts';

/** A kind of data for which Faregate has no counterpart. */
export interface Counted {
  readonly what: string;
  readonly why: string;
  /** SQL that follows `select count(*) from`. */
  readonly from: string;
  /** Column with an amount of units that is left out together with the rows. */
  readonly units?: string;
}

export async function countLeftOut(database: ForeignDatabase, all: readonly Counted[]): Promise<LeftOut[]> {
  const leftOut: LeftOut[] = [];
  for (const { what, why, from, units } of all) {
    const sum = units === undefined ? 'null' : `sum(${units})`;
    const query = `select cast(count(*) as text) as count, cast(${sum} as text) as units from ${from}`;
    const [row] = await database.select(query);
    const count = Number(row!.count);
    if (count > 0) leftOut.push({ what: row!.units === null ? what : `${what}, ${row!.units} units`, why, count });
  }
  return leftOut;
}
