import { type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import {
  bigintColumn,
  booleanColumn,
  countColumn,
  dateColumn,
  intColumn,
  jsonbColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import { type LookedThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import type { UsageSource } from '../../protocols/metering/usage-facts.ts';
import { byUnit, type UnitCounts, unitColumns } from '../../protocols/metering/usage-units.ts';
import type { RecordedPrices } from '../pricing/charge-notes.ts';
import type { PriceRule } from '../pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { type CallFilter, createCallList, keyParameters } from './call-list-store.ts';
import { type CallNotes, type CallStatus, callIdOf, type FailedRoute } from './call-outcome.ts';

/**
 * The SQL of call records as people read them. The transaction that ends a call writes them, or the one that resolves a call
 * of a dead node (`accounting/calls/call-record-store.ts`).
 */

/** Of units without a column; those that the record does not name are 0. */
const UNITS = selection({
  other: orNull(jsonbColumn<Readonly<Record<string, number>>>('c.other_units')),
  own: selection(Object.fromEntries(unitColumns.map(({ unit, column }) => [unit, countColumn(`c.${column}`)]))),
}).to(({ other, own }): UnitCounts => ({ ...byUnit((unit) => other?.[unit] ?? 0), ...own }));

const CALLS = selection({
  id: textColumn('c.id'),
  accountId: textColumn('c.account_id'),
  keyId: textColumn('c.key_id'),
  context: textColumn('c.context'),
  operation: textColumn('c.operation'),
  model: textColumn('c.model'),
  provider: textColumn('c.provider'),
  providerModel: textColumn('c.provider_model'),
  /** The routes of attempts that failed before the last one; `null` if there were none. */
  failedRoutes: orNull(jsonbColumn<readonly FailedRoute[]>('c.failed_routes')),
  isStream: booleanColumn('c.is_stream'),
  status: textColumn<CallStatus>('c.status'),
  httpStatus: orNull(intColumn('c.http_status')),
  errorCode: orNull(textColumn('c.error_code')),
  requestId: textColumn('c.request_id'),
  /** The client's own id of its request; `null` where it sent none. */
  clientRequestId: orNull(textColumn('c.client_request_id')),
  startedAt: dateColumn('c.started_at'),
  endedAt: dateColumn('c.ended_at'),
  firstByteMs: orNull(intColumn('c.first_byte_ms')),
  usageSource: orNull(textColumn<UsageSource>('c.usage_source')),
  units: UNITS,
  images: countColumn('c.images'),
  priceRule: textColumn<PriceRule>('c.price_rule'),
  /** `null` for unresolved calls, of which only the price rule is known. */
  prices: orNull(jsonbColumn<RecordedPrices>('coalesce(l.prices, c.prices) as prices')),
  /** What the account paid of the list price; `null` on a plan, and of a call whose node died. */
  priceFactorBasisPoints: orNull(
    // The list price is recorded as `null`, as by versions that knew no other.
    intColumn(`case when c.context <> 'coding' and c.status not in ('unresolved', 'resolved')
    then coalesce(c.price_factor_basis_points, ${LIST_PRICE_BASIS_POINTS}) end as price_factor_basis_points`),
  ),
  chargeNano: orNull(bigintColumn('c.charge_nano')),
  /** What it cost the operator; `null` if that is not known. */
  costNano: orNull(bigintColumn('c.cost_nano')),
  /** What an unresolved call had reserved, the most that it may have cost; `null` for every other one, and on a plan. */
  reservedNano: orNull(bigintColumn('c.reserved_nano')),
  notes: orNull(jsonbColumn<CallNotes>('c.notes')),
});

export type CallRecord = RowOf<typeof CALLS>;

/** Records that are older than the lists have their prices themselves. */
const RECORDS = 'calls c left join price_lists l on l.id = c.price_list';

/** Those of a list. Plans: primary keys; the instant leaves out months. */
const selectListed: Statement = {
  name: 'calls.select-listed',
  text: `select ${CALLS.list}
from unnest($1::text[], $2::text[], $3::timestamptz[]) as v (account_id, id, started_at)
join calls c on c.account_id = v.account_id and c.id = v.id and c.started_at = v.started_at
left join price_lists l on l.id = c.price_list
order by c.id desc`,
};

/** By calls_by_id in each month. */
const selectCall: Statement = { name: 'calls.select', text: `select ${CALLS.list} from ${RECORDS} where c.id = $1` };

/** Plan: primary key. */
const selectDropped: Statement = {
  name: 'calls.select-dropped',
  text: 'select from dropped_months where month = month_of_call($1::text) and dropped_at is not null',
};

/**
 * The calls of a request, by calls_by_id and the filters of calls_by_request in each month; ranges of pages that are not
 * summarised yet are read. $2 is the id of the call where $1 is one of the gateway's own request ids.
 */
const findByRequest: Statement = {
  name: 'calls.find-by-request',
  text: `select ${CALLS.list} from ${RECORDS}
where (c.id = $1 or c.id = $2 or c.request_id = $1 or c.client_request_id = $1)
  and ($4::text is null or c.account_id = $4) and ($5::text[] is null or c.key_id = any ($5::text[]))
order by c.id desc limit $3::int`,
};

/** Whose calls or refusals are looked for. */
export interface OwnedBy {
  /** `null`: of every account. */
  readonly accountId: string | null;
  /** Of these keys of the account alone; `null`: of all. */
  readonly keyIds: readonly string[] | null;
}

export const EVERYBODY: OwnedBy = { accountId: null, keyIds: null };

/** What PostgreSQL makes one of, if nothing else is said. */
const PAGES_A_FILTER = 128;

/** The server does it too, from time to time. It keeps nobody from writing. */
const summariseRequestIds: Statement = {
  name: 'calls.summarise-request-ids',
  text: `select brin_summarize_new_values(inhrelid::regclass) as ranges from pg_inherits
where inhparent = to_regclass('calls_by_request')`,
};

/**
 * Takes the filters away of the pages that records are being written into: each record would be added to them, which took
 * five times what the rest of a record takes. A search reads those pages, 1 MB at most. An index has a filter of its first pages
 * from the moment on at which its table is made.
 */
export const forgetOpenFilters: Statement = {
  name: 'calls.forget-open-filters',
  text: `select brin_desummarize_range(indexrelid::regclass, pages - pages % ${PAGES_A_FILTER})
from (
  select i.indexrelid, pg_relation_size(i.indrelid) / current_setting('block_size')::bigint as pages
  from unnest($1::text[]) as name
  join pg_index i on i.indrelid = to_regclass(name)
  join pg_inherits h on h.inhrelid = i.indexrelid and h.inhparent = to_regclass('calls_by_request')
) as filters`,
};

const MONTHS_AHEAD = 2;

/** Creating a table that exists already takes a connection, and waits for whoever works on `calls`. */
const findMissingTables: Statement = {
  name: 'calls.find-missing-tables',
  text: 'select name from unnest($1::text[]) as name where to_regclass(name) is null',
};

interface MonthTable {
  readonly name: string;
  readonly from: Date;
  readonly to: Date;
}

function monthTablesFrom(now: Date): MonthTable[] {
  return Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) =>
    monthTableOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1))),
  );
}

/** The name of the table of call records of a month, such as `2026-11-01`; `null`: of those without a month's table. */
export const monthTableName = (month: string | null): string =>
  `calls_${month === null ? 'default' : month.slice(0, 'YYYY-MM'.length).replace('-', '_')}`;

/** The table of call records of the month in which an instant is. */
export function monthTableOf(at: Date): MonthTable {
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
  return { name: monthTableName(from.toISOString()), from, to };
}

/** Makes the table of a month, unless it is there. */
export function createMonthTable({ name, from, to }: MonthTable): Statement {
  return {
    name: `calls.create-month-${name}`,
    text: `create table if not exists ${name} partition of calls
for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  };
}

export type CallsStore = ReturnType<typeof createCallsStore>;

export function createCallsStore(database: PartitionLane) {
  const listKeys = createCallList(database);
  return {
    /**
     * Calls that a filter lets through, newest first. If the time is over before there are enough, it returns what it has found and
     * where to look on. Without a `timing` it looks at everything.
     */
    async list(
      filter: CallFilter,
      beforeId: string | null,
      limit: number,
      timing: SliceTiming = UNHURRIED,
    ): Promise<LookedThrough<CallRecord>> {
      const { items, next } = await listKeys(filter, beforeId, limit, timing);
      const rows = items.length === 0 ? [] : await database.query(selectListed, keyParameters(items));
      return { items: CALLS.all(rows), next };
    },
    /** Newest first: those of a request, by its id here, at the provider, or at the client, or by the id of the call. */
    async findByRequest(
      requestId: string,
      limit: number,
      { accountId, keyIds }: OwnedBy = EVERYBODY,
    ): Promise<CallRecord[]> {
      const of = [accountId, keyIds === null ? null : toArray(keyIds)];
      return CALLS.all(await database.query(findByRequest, [requestId, callIdOf(requestId), limit, ...of]));
    },
    find: async (id: string): Promise<CallRecord | null> => CALLS.first(await database.query(selectCall, [id])),
    /** Whether records of calls that were made when this id was are no longer kept. */
    isDropped: async (id: string): Promise<boolean> => (await database.query(selectDropped, [id])).length > 0,
    /**
     * Makes the filters by which request ids are found of what has been recorded since the last time, but for the pages of this month
     * that take the next records.
     */
    async summariseRequestIds(now: Date): Promise<void> {
      await database.query(summariseRequestIds);
      await database.query(forgetOpenFilters, [toArray([monthTableOf(now).name])]);
    },
    /** Prepares the tables of this month and the next two. Call records of a month without one go to the default. */
    async prepareMonths(now: Date): Promise<void> {
      const tables = monthTablesFrom(now);
      const missing = await database.query<{ name: string }>(findMissingTables, [
        toArray(tables.map(({ name }) => name)),
      ]);
      if (missing.length === 0) return;
      for (const { name, from, to } of tables) {
        if (!missing.some((table) => table.name === name)) continue;
        await database.query(createMonthTable({ name, from, to })).catch((error: unknown) => {
          if (!isTableNeedless(error)) throw error;
        });
      }
      await database.query(forgetOpenFilters, [toArray(missing.map(({ name }) => name))]);
    },
  };
}

const DUPLICATE_TABLE = '42P07';
const CHECK_VIOLATION = '23514';

/** Another node was quicker, or the default table already has records of that month, which then stay there. */
function isTableNeedless(error: unknown): boolean {
  const state = sqlState(error);
  return state === DUPLICATE_TABLE || state === CHECK_VIOLATION;
}
