import type { Database, Parameter, Statement } from '../../src/db/database.ts';

interface UseRow {
  readonly key_id: string;
  readonly spent_nano: bigint;
  readonly week_spent_nano: bigint;
  readonly month_spent_nano: bigint;
  readonly total_spent_nano: bigint;
  readonly reserved_nano: bigint;
  readonly calls: bigint;
  readonly in_flight: bigint;
}

/** The stored usage of owners of limits, by their id; `select` reads whole rows of `key_limits`. */
export async function readStoredUses(database: Database, select: Statement, parameters: readonly Parameter[]) {
  const rows = await database.query<UseRow>(select, parameters);
  return new Map(rows.map((row) => [row.key_id, useOf(row)]));
}

function useOf(row: UseRow) {
  return {
    spentNano: row.spent_nano,
    weekSpentNano: row.week_spent_nano,
    monthSpentNano: row.month_spent_nano,
    totalSpentNano: row.total_spent_nano,
    reservedNano: row.reserved_nano,
    calls: Number(row.calls),
    inFlight: Number(row.in_flight),
  };
}
