import { type Database, type Query, type Queryable, type Statement, toArray } from '../../db/database.ts';
import { snakeCase } from '../../lib/snake-case.ts';
import type { CallOutcome } from '../calls/call-outcome.ts';
import { type LostReservation, queueWrites, recordWrites, unresolvedWrites } from '../calls/call-record-store.ts';
import { createMonthTable, forgetOpenFilters, monthTableOf } from '../calls/calls-store.ts';
import { priceListWrites, StoredPriceLists } from '../pricing/price-list-store.ts';
import { factsText } from '../reservations/reservation.ts';

/** This file writes the history of a new database, for the demo (`README.md`). */

/** Tables in an order that satisfies their foreign keys. */
const TABLES = [
  'accounts',
  'balances',
  'api_keys',
  'key_limits',
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
] as const;

export type HistoryTable = (typeof TABLES)[number];

/** Values by field name. A field such as `createdAtMs` becomes the column `created_at`. Objects are stored as JSON. */
export type HistoryRow = Readonly<Record<string, string | number | bigint | boolean | null | object>>;

export interface History {
  /** Rows by table. A column that no row contains gets its default; if only some rows contain it, it is null in the others. */
  readonly rows: Readonly<Partial<Record<HistoryTable, readonly HistoryRow[]>>>;
  /** Calls in the order of their starts. Their ledger entries are in `rows`. */
  readonly outcomes: readonly CallOutcome[];
  readonly unresolved: readonly LostOutcome[];
}

/** A call on a balance whose node died; its end is when this was noticed. Only what was known at admission is used. */
export type LostOutcome = CallOutcome & { readonly reservedNano: bigint };

const lockIdentity: Statement = {
  name: 'history.lock-identity',
  text: 'select exists (select from accounts) as has_accounts from database_identity for update',
};

const insertKeyUses: Statement = {
  name: 'history.insert-key-uses',
  text: `insert into key_uses (account_id, key_id, last_used_at)
select account_id, key_id, max(started_at) from calls group by account_id, key_id`,
};

const ROWS_AT_ONCE = 500;

/** Writes a history. If the database already has accounts, returns false and writes nothing. */
export function writeHistory(database: Database, { rows, outcomes, unresolved }: History): Promise<boolean> {
  return database.longTransaction(async (transaction) => {
    const [identity] = await transaction.query<{ has_accounts: boolean }>(lockIdentity);
    if (identity!.has_accounts) return false;
    const months = new Set(outcomes.map(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 7)));
    const tables = [...months].map((month) => monthTableOf(new Date(`${month}-01T00:00:00Z`)));
    for (const table of tables) await transaction.query(createMonthTable(table));
    await transaction.query(forgetOpenFilters, [toArray(tables.map(({ name }) => name))]);
    for (const table of TABLES) await insertRows(transaction, table, rows[table] ?? []);
    const run = async (queries: readonly Query[]): Promise<void> => {
      for (const { statement, parameters } of queries) await transaction.query(statement, parameters);
    };
    await run(priceListWrites(new StoredPriceLists().missingOf(outcomes.map(({ price }) => price.prices))));
    for (const some of slices(outcomes)) {
      const ends = some.map((outcome) => ({ outcome, usage: outcome.usage, counted: null }));
      const prices = new Set(some.map(({ price }) => price.prices));
      await run([...recordWrites(ends, [...prices]), ...queueWrites(ends)]);
    }
    for (const call of unresolved) await run(unresolvedWrites([reservationOf(call)], new Date(call.endedAtMs)));
    await transaction.query(insertKeyUses);
    return true;
  });
}

function reservationOf(call: LostOutcome): LostReservation {
  const { accountId, callId, keyId, model, startedAtMs, price, reservedNano } = call;
  const facts = factsText({ ...call, priceRule: price.rule });
  const ofPlan = { subscriptionId: null, periodNo: null, tokens: null };
  const ofOwners = { memberId: null, keyBudgetId: null, memberBudgetId: null, callerBudgetIds: null };
  return {
    accountId,
    callId,
    keyId,
    model,
    reservedAtMs: startedAtMs,
    amountNano: reservedNano,
    facts,
    ...ofPlan,
    ...ofOwners,
  };
}

async function insertRows(transaction: Queryable, table: HistoryTable, rows: readonly HistoryRow[]): Promise<void> {
  if (rows.length === 0) return;
  const written = rows.map((row) => Object.fromEntries(Object.entries(row).map(toColumn)));
  const columns = Object.keys(Object.assign({}, ...written)).join(', ');
  const statement: Statement = {
    name: `history.insert-${table}`,
    text: `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)`,
  };
  for (const some of slices(written)) await transaction.query(statement, [JSON.stringify(some)]);
}

function toColumn([name, value]: [string, HistoryRow[string]]): [string, unknown] {
  if (IS_INSTANT.test(name)) return [snakeCase(name.slice(0, -2)), value === null ? null : new Date(Number(value))];
  if (typeof value === 'bigint') return [snakeCase(name), String(value)];
  return [snakeCase(name), Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value];
}

const IS_INSTANT = /(^a|A)tMs$/;

function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let i = 0; i < items.length; i += ROWS_AT_ONCE) yield items.slice(i, i + ROWS_AT_ONCE);
}
