import assert from 'node:assert/strict';
import type { CallOutcome } from '../../src/accounting/calls/call-outcome.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createDropping } from '../../src/accounting/retention/dropping.ts';
import { createRetentionStore } from '../../src/accounting/retention/retention-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createIds } from '../../src/lib/ids.ts';
import { noUsage } from '../../src/protocols/metering/usage-facts.ts';
import { outcomeOf } from '../support/accounting-builders.ts';
import { createTestDatabase } from '../support/database.ts';
import { emptyDatabase, readNewDatabase } from '../support/emptied-database.ts';
import { type RecordedLogger, recordLogs } from '../support/recorded-logger.ts';
import { sql } from '../support/sql.ts';

/** Shared by the tests of retention: calls of some months, and what drops them. */

export const TIMEZONE = 'Asia/Shanghai';
export const DAY_MS = 86_400_000;
/** Two months past their retention and one that stays. */
export const MONTHS = ['2026-01', '2026-02', '2026-03'] as const;
export const NOW_MS = Date.parse('2026-04-02T00:00:00Z');
export const KEPT_MS = 30 * DAY_MS;

export async function prepareMonths(database: Database): Promise<void> {
  const calls = createCallsStore(database);
  for (const month of MONTHS) await calls.prepareMonths(new Date(`${month}-01T00:00:00Z`));
}

/** The end of call number `n` of a month; number 0 starts in its first millisecond. */
export function endOf(month: string, n: number): CallOutcome {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const startedAtMs = n === 0 ? first : first + ((n * 7_919_017) % (27 * DAY_MS));
  const ids = createIds({ nowMs: () => startedAtMs }, (bytes) => bytes.fill(n));
  const isCharged = n % 5 !== 3;
  return {
    ...outcomeOf(`acct_${n % 3}`, ids.next('call'), isCharged ? BigInt(n * 7 + 1) : null),
    keyId: `key_${n % 2}`,
    model: n % 4 === 0 ? 'large' : 'small',
    caller: { tags: [`tag-${n % 2}`] },
    startedAtMs,
    endedAtMs: startedAtMs + 60_000,
    usage: isCharged ? { ...noUsage, source: 'observed', inputTokens: n, outputTokens: 2 * n } : null,
    costNano: isCharged ? BigInt(n * 3) : null,
  };
}

/** Adds queued records to the sums of usage. */
export async function sumUsage(database: Database): Promise<void> {
  const store = createRollupStore(database.pool('housekeeping'));
  while ((await store.sumSlice(TIMEZONE)) !== 'idle');
}

/** A database whose tables tests drop and create, one test after the other. */
export interface ReusedDatabase {
  readonly database: Database;
  /** Restores the state of a new database. */
  renew(): Promise<void>;
  remove(): Promise<void>;
}

export async function createReusedDatabase(): Promise<ReusedDatabase> {
  const { database, remove } = await createTestDatabase();
  const asNew = await readNewDatabase(database);
  const tablesAsNew = await tablesOf(database);
  return {
    database,
    remove,
    async renew() {
      const tables = await tablesOf(database);
      // A new table of the same month needs the name.
      for (const table of tables) if (!tablesAsNew.includes(table)) await database.script(`drop table ${table}`);
      assert.deepEqual(await tablesOf(database), tablesAsNew);
      assert.equal(await emptyDatabase(database, asNew), true);
    },
  };
}

/** The names of all tables, also those of months. */
async function tablesOf(database: Database): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    database,
    `select relname::text as name from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
  );
  return tables.map(({ name }) => name);
}

interface TestDropping {
  readonly logs: RecordedLogger;
  /** How long records are kept; `undefined`: for ever. */
  keptMs: number | undefined;
  run(signal?: AbortSignal): Promise<void>;
  /** Log lines since the previous call, shortened, such as `2026-01 dropped`. */
  said(): string[];
}

/** `rowsMax`: of a batch of records that are deleted one by one; fewer than a month has. */
export function droppingOf(database: Database, { rowsMax = 4 } = {}): TestDropping {
  const logs = recordLogs();
  const dropping = createDropping({
    store: createRetentionStore(database, 0, rowsMax),
    keptMs: () => made.keptMs,
    timezone: () => TIMEZONE,
    clock: { nowMs: () => NOW_MS },
    pace: (work) => work(),
    logger: logs.logger,
  });
  const made: TestDropping = {
    logs,
    keptMs: KEPT_MS,
    run: (signal = new AbortController().signal) => dropping.run(signal),
    said: () => logs.lines.splice(0).map(({ details, message }) => inShort(details, message)),
  };
  return made;
}

function inShort(details: Readonly<Record<string, unknown>>, message: string): string {
  const { month = 'records', reason, detail, records } = details;
  if (message.endsWith('were dropped'))
    return records === undefined ? `${month} dropped` : `records dropped: ${records}`;
  return reason === undefined ? `${month} stays: ${detail}` : `${month} waits: ${reason}`;
}

/** The tables of records, and the number of records by month. */
export async function kept(database: Database): Promise<{ tables: string[]; calls: Record<string, number> }> {
  const tables = await sql<{ name: string }>(
    database,
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'calls'::regclass and (c.relname < 'calls_2026_04' or c.relname = 'calls_default') order by 1`,
  );
  const calls = await sql<{ month: string; n: number }>(
    database,
    `select to_char(started_at at time zone 'UTC', 'YYYY-MM') as month, count(*)::int as n from calls group by 1 order by 1`,
  );
  return { tables: tables.map(({ name }) => name), calls: Object.fromEntries(calls.map(({ month, n }) => [month, n])) };
}

/** Usage by day, of each account and in total. */
export const usage = (database: Database): Promise<unknown[]> =>
  sql(
    database,
    `select account_id, day::text as day, key_id, model, status, calls, charge_nano, refund_nano, cost_nano, input_tokens
from usage_rollups where calls <> 0 or refund_nano <> 0
union all
select '', day::text, '', model, status, calls, charge_nano, refund_nano, cost_nano, input_tokens
from usage_totals where calls <> 0 or refund_nano <> 0
order by 1, 2, 3, 4, 5`,
  );
