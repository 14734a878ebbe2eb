import { type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
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
import { firstIdAt } from '../../lib/ids.ts';
import { type LookedThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import type { UsageSource } from '../../protocols/metering/usage-facts.ts';
import { byUnit, type UnitCounts, unitColumns } from '../../protocols/metering/usage-units.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { RecordedPrices } from '../pricing/charge-notes.ts';
import type { PriceRule } from '../pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { type CallFilter, createCallList, keyParameters } from './call-list-store.ts';
import { type CallNotes, type CallStatus, callIdOf, type FailedRoute } from './call-outcome.ts';

/** This file reads call records and creates the tables of their months. `call-record-store.ts` writes the records. */

const MINUTE_MS = 60_000;

/** Reads usage from a record. A unit that the record does not contain is 0. */
const UNITS = selection({
  other: orNull(jsonbColumn<Readonly<Record<string, number>>>('c.other_units')),
  own: selection(Object.fromEntries(unitColumns.map(({ unit, column }) => [unit, countColumn(`c.${column}`)]))),
}).to(({ other, own }): UnitCounts => ({ ...byUnit((unit) => other?.[unit] ?? 0), ...own }));

const CALLS = selection({
  id: textColumn('c.id'),
  accountId: textColumn('c.account_id'),
  keyId: textColumn('c.key_id'),
  groupId: orNull(textColumn('c.group_id')),
  context: textColumn('c.context'),
  operation: textColumn('c.operation'),
  model: textColumn('c.model'),
  provider: textColumn('c.provider'),
  providerModel: textColumn('c.provider_model'),
  failedRoutes: orNull(jsonbColumn<readonly FailedRoute[]>('c.failed_routes')),
  isStream: booleanColumn('c.is_stream'),
  status: textColumn<CallStatus>('c.status'),
  httpStatus: orNull(intColumn('c.http_status')),
  errorCode: orNull(textColumn('c.error_code')),
  requestId: textColumn('c.request_id'),
  /** Request id that the client sent; `null`: none. */
  clientRequestId: orNull(textColumn('c.client_request_id')),
  /** Who made the call; `null`: nothing was recorded. */
  caller: orNull(jsonbColumn<RecordedCaller>('c.caller')),
  startedAt: dateColumn('c.started_at'),
  endedAt: dateColumn('c.ended_at'),
  firstByteMs: orNull(intColumn('c.first_byte_ms')),
  usageSource: orNull(textColumn<UsageSource>('c.usage_source')),
  units: UNITS,
  images: countColumn('c.images'),
  priceRule: textColumn<PriceRule>('c.price_rule'),
  /** Prices of the call; `null` if it is unresolved. */
  prices: orNull(jsonbColumn<RecordedPrices>('coalesce(l.prices, c.prices) as prices')),
  /** Price factor at admission; `null` on a plan, and if the call's node died. */
  priceFactorBasisPoints: orNull(
    // A price factor of 100 % is stored as null.
    intColumn(`case when c.context <> 'coding' and c.status not in ('unresolved', 'resolved')
    then coalesce(c.price_factor_basis_points, ${LIST_PRICE_BASIS_POINTS}) end as price_factor_basis_points`),
  ),
  chargeNano: orNull(bigintColumn('c.charge_nano')),
  /** What the provider charges; `null`: unknown. */
  costNano: orNull(bigintColumn('c.cost_nano')),
  /** Maximum of the charge of an unresolved or resolved call; `null` for other calls, and on a plan. */
  reservedNano: orNull(bigintColumn('c.reserved_nano')),
  notes: orNull(jsonbColumn<CallNotes>('c.notes')),
});

export type CallRecord = RowOf<typeof CALLS>;

/** Records with their price lists. Records of earlier versions have their prices in a column instead. */
const RECORDS = 'calls c left join price_lists l on l.id = c.price_list';

/** Selects calls by id. The start times in $3 limit the months that are read. Uses primary keys. */
const selectListed: Statement = {
  name: 'calls.select-listed',
  text: `select ${CALLS.list}
from unnest($1::text[], $2::text[], $3::timestamptz[]) as v (account_id, id, started_at)
join calls c on c.account_id = v.account_id and c.id = v.id and c.started_at = v.started_at
left join price_lists l on l.id = c.price_list
order by c.id desc`,
};

/** Uses the index calls_by_id of each month. */
const selectCall: Statement = { name: 'calls.select', text: `select ${CALLS.list} from ${RECORDS} where c.id = $1` };

const selectDropped: Statement = {
  name: 'calls.select-dropped',
  text: 'select from dropped_months where month = month_of_call($1::text) and dropped_at is not null',
};

/** Finds calls by the request id $1 or by $2, the call id that belongs to it. Uses calls_by_id and calls_by_request of each month. */
const findByRequest: Statement = {
  name: 'calls.find-by-request',
  text: `select ${CALLS.list} from ${RECORDS}
where (c.id = $1 or c.id = $2 or c.request_id = $1 or c.client_request_id = $1)
  and ($4::text is null or c.account_id = $4) and ($5::text[] is null or c.key_id = any ($5::text[]))
order by c.id desc limit $3::int`,
};

export interface OwnedBy {
  /** Account whose calls are searched; `null`: every account. */
  readonly accountId: string | null;
  /** Keys whose calls are searched; `null`: every key. */
  readonly keyIds: readonly string[] | null;
}

export const EVERYBODY: OwnedBy = { accountId: null, keyIds: null };

/** Pages that share a Bloom filter: the default of `pages_per_range` of a BRIN index. */
const PAGES_A_FILTER = 128;

/** Builds filters for new page ranges of the index, as autovacuum also does. This does not block writes. */
const summariseRequestIds: Statement = {
  name: 'calls.summarise-request-ids',
  text: `select brin_summarize_new_values(inhrelid::regclass) as ranges from pg_inherits
where inhparent = to_regclass('calls_by_request')`,
};

/** Removes the Bloom filters of pages that take new records: updating a filter takes five times as long as the rest of the insert. */
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

/** Selects months without a table. `create table if not exists` would wait for locks on `calls` even if the table exists. */
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

/** @param month such as `2026-11-01`; `null`: the default partition */
export const monthTableName = (month: string | null): string =>
  `calls_${month === null ? 'default' : month.slice(0, 'YYYY-MM'.length).replace('-', '_')}`;

export function monthTableOf(at: Date): MonthTable {
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
  return { name: monthTableName(from.toISOString()), from, to };
}

export function createMonthTable({ name, from, to }: MonthTable): Statement {
  return {
    name: `calls.create-month-${name}`,
    text: `create table if not exists ${name} partition of calls
for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  };
}

/** Calls counted per minute at most, so that the statement stays bounded. */
export const MINUTE_CALLS_MAX = 100_000;

/**
 * Counts ended calls by the minute in which they started. Ids sort by time, so each count is a range of calls_by_id. Calls in flight have
 * no record yet.
 */
const countStarted: Statement = {
  name: 'calls.count-started',
  text: `select (
  select count(*)::int from (
    select from calls c where c.id >= m.first_id and c.id < m.next_id limit ${MINUTE_CALLS_MAX}
  ) part
) as calls
from unnest($1::text[], $2::text[]) with ordinality as m (first_id, next_id, position) order by position`,
};

export type CallsStore = ReturnType<typeof createCallsStore>;

export function createCallsStore(database: PartitionPool) {
  const listKeys = createCallList(database);
  return {
    /** Lists calls, newest first. At the time limit, returns those found so far and a cursor. Without `timing`, there is no time limit. */
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
    /** Finds calls by a request id of the gateway, the provider or the client, or by the call id; newest first. */
    async findByRequest(
      requestId: string,
      limit: number,
      { accountId, keyIds }: OwnedBy = EVERYBODY,
    ): Promise<CallRecord[]> {
      const of = [accountId, keyIds === null ? null : toArray(keyIds)];
      return CALLS.all(await database.query(findByRequest, [requestId, callIdOf(requestId), limit, ...of]));
    },
    find: async (id: string): Promise<CallRecord | null> => CALLS.first(await database.query(selectCall, [id])),
    /** Whether the records of the month in which the id was created are dropped. */
    isDropped: async (id: string): Promise<boolean> => (await database.query(selectDropped, [id])).length > 0,
    /** Counts ended calls by the minute in which they started, at most `MINUTE_CALLS_MAX` each. `minutesMs` are the starts of minutes. */
    async countStarted(minutesMs: readonly number[]): Promise<readonly number[]> {
      const idsAt = (shiftMs: number) => toArray(minutesMs.map((minuteMs) => firstIdAt('call', minuteMs + shiftMs)));
      const rows = await database.query<{ calls: number }>(countStarted, [idsAt(0), idsAt(MINUTE_MS)]);
      return rows.map(({ calls }) => calls);
    },
    /** Builds the Bloom filters of new records, except of the pages that still take new records. */
    async summariseRequestIds(now: Date): Promise<void> {
      await database.query(summariseRequestIds);
      await database.query(forgetOpenFilters, [toArray([monthTableOf(now).name])]);
    },
    /** Creates the tables of this month and the next two. The default partition takes records of a month without a table. */
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

/** Whether creating a table failed because it is not needed: another node created it, or the default partition has records of its month. */
function isTableNeedless(error: unknown): boolean {
  const state = sqlState(error);
  return state === DUPLICATE_TABLE || state === CHECK_VIOLATION;
}
