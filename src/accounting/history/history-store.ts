import { type Database, type Queryable, type Statement, toArray } from '../../db/database.ts';
import type { CallOutcome } from '../calls/call-outcome.ts';
import { recordWrites } from '../calls/call-record-store.ts';
import { createPartition, forgetOpenFilters, partitionOf } from '../calls/calls-store.ts';
import { StoredPriceLists } from '../pricing/price-list-store.ts';

/**
 * The SQL that gives a new database a past: accounts as they would be if they had been used for some time. The demo has one.
 * Whoever makes it responds for what `faregate audit` checks; the records of calls are written as those of every call.
 */

/** In an order in which rows can be inserted: what others refer to comes first. */
const TABLES = [
  'accounts',
  'balances',
  'api_keys',
  'key_limits',
  'key_uses',
  'ledger_entries',
  'subscriptions',
  'plan_slots',
  'users',
  'memberships',
  'voucher_batches',
  'vouchers',
  'voucher_redemptions',
  'refusals',
  'changes',
  'calls',
] as const;

export type HistoryTable = (typeof TABLES)[number];

/** A row by the names of its columns, as JSON: amounts of money are text, and bytes are in hex behind `\x`. */
export type HistoryRow = Readonly<Record<string, string | number | boolean | null | readonly string[] | object>>;

export interface History {
  /** Columns that no row of a table names have their default; those that some name are null in the others. */
  readonly rows: Readonly<Partial<Record<HistoryTable, readonly HistoryRow[]>>>;
  /** Calls that have ended, in the order of their beginnings; their ledger entries are among the rows. */
  readonly outcomes: readonly CallOutcome[];
}

const lockIdentity: Statement = {
  name: 'history.lock-identity',
  text: 'select exists (select from accounts) as has_accounts from database_identity for update',
};

const ROWS_AT_ONCE = 500;

/**
 * Writes a history into a database without accounts, all of it or nothing. Returns false if there are accounts: somebody
 * else was first.
 */
export function writeHistory(database: Database, { rows, outcomes }: History): Promise<boolean> {
  return database.longTransaction(async (transaction) => {
    const [identity] = await transaction.query<{ has_accounts: boolean }>(lockIdentity);
    if (identity!.has_accounts) return false;
    const months = new Set(outcomes.map(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 7)));
    const partitions = [...months].map((month) => partitionOf(new Date(`${month}-01T00:00:00Z`)));
    for (const partition of partitions) await transaction.query(createPartition(partition));
    await transaction.query(forgetOpenFilters, [toArray(partitions.map(({ name }) => name))]);
    for (const table of TABLES) await insertRows(transaction, table, rows[table] ?? []);
    for (const { statement, parameters } of new StoredPriceLists().writes(outcomes.map(({ price }) => price.prices))) {
      await transaction.query(statement, parameters);
    }
    for (const some of slices(outcomes)) {
      const ends = some.map((outcome) => ({ outcome, counted: null }));
      for (const { statement, parameters } of recordWrites(ends, () => false)) {
        await transaction.query(statement, parameters);
      }
    }
    return true;
  });
}

async function insertRows(transaction: Queryable, table: HistoryTable, rows: readonly HistoryRow[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = Object.keys(Object.assign({}, ...rows)).join(', ');
  const statement: Statement = {
    name: `history.insert-${table}`,
    text: `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)`,
  };
  for (const some of slices(rows)) await transaction.query(statement, [JSON.stringify(some)]);
}

function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let i = 0; i < items.length; i += ROWS_AT_ONCE) yield items.slice(i, i + ROWS_AT_ONCE);
}
