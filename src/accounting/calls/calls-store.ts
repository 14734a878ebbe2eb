import { type Lane, type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { type LookedThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import type { UsageSource } from '../../protocols/metering/usage-facts.ts';
import { byUnit, type UnitCounts, unitColumns } from '../../protocols/metering/usage-units.ts';
import type { RecordedPrices } from '../pricing/charge-notes.ts';
import type { PriceRule } from '../pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { callIdOf } from './call-id.ts';
import { type CallFilter, createCallList, keyParameters } from './call-list-store.ts';
import type { CallNotes, CallStatus, FailedRoute } from './call-outcome.ts';

/**
 * The SQL of call records as people read them. The transaction that ends a call writes them, or the one that resolves a call
 * of a dead node (`accounting/calls/call-record-store.ts`).
 */

export interface CallRecord {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly context: string;
  readonly operation: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The routes of attempts that failed before the last one; `null` if there were none. */
  readonly failedRoutes: readonly FailedRoute[] | null;
  readonly isStream: boolean;
  readonly status: CallStatus;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly requestId: string;
  /** The client's own id of its request; `null` where it sent none. */
  readonly clientRequestId: string | null;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly firstByteMs: number | null;
  readonly usageSource: UsageSource | null;
  /** Of units without a column; those that the record does not name are 0. */
  readonly units: UnitCounts;
  readonly images: number;
  readonly priceRule: PriceRule;
  /** `null` for unresolved calls, of which only the price rule is known. */
  readonly prices: RecordedPrices | null;
  /** What the account paid of the list price; `null` on a plan, and of a call whose node died. */
  readonly priceFactorBasisPoints: number | null;
  readonly chargeNano: bigint | null;
  /** What it cost the operator; `null` if that is not known. */
  readonly costNano: bigint | null;
  /** What an unresolved call had reserved, the most that it may have cost; `null` for every other one, and on a plan. */
  readonly reservedNano: bigint | null;
  readonly notes: CallNotes | null;
}

interface CallRow extends UnitColumns {
  id: string;
  account_id: string;
  key_id: string;
  context: string;
  operation: string;
  model: string;
  provider: string;
  provider_model: string;
  failed_routes: FailedRoute[] | null;
  is_stream: boolean;
  status: CallStatus;
  http_status: number | null;
  error_code: string | null;
  request_id: string;
  client_request_id: string | null;
  started_at: Date;
  ended_at: Date;
  first_byte_ms: number | null;
  usage_source: UsageSource | null;
  images: bigint;
  other_units: Readonly<Record<string, number>> | null;
  price_rule: PriceRule;
  prices: RecordedPrices | null;
  price_factor_basis_points: number | null;
  charge_nano: bigint | null;
  cost_nano: bigint | null;
  reserved_nano: bigint | null;
  notes: CallNotes | null;
}

/** The columns of usage units. */
type UnitColumns = { readonly [Column in (typeof unitColumns)[number]['column']]: bigint };

const COLUMNS = `c.id, c.account_id, c.key_id, c.context, c.operation, c.model, c.provider, c.provider_model, c.is_stream, c.status,
  c.http_status, c.error_code, c.request_id, c.client_request_id, c.started_at, c.ended_at, c.first_byte_ms, c.usage_source,
  ${unitColumns.map(({ column }) => `c.${column}`).join(', ')}, c.other_units,
  c.images, c.price_rule, coalesce(l.prices, c.prices) as prices, c.price_factor_basis_points, c.charge_nano, c.cost_nano, c.reserved_nano, c.failed_routes, c.notes`;

/** Records that are older than the lists have their prices themselves. */
const RECORDS = 'calls c left join price_lists l on l.id = c.price_list';

/** Those of a list. Plans: primary keys; the instant leaves out partitions. */
const selectListed: Statement = {
  name: 'calls.select-listed',
  text: `select ${COLUMNS}
from unnest($1::text[], $2::text[], $3::timestamptz[]) as v (account_id, id, started_at)
join calls c on c.account_id = v.account_id and c.id = v.id and c.started_at = v.started_at
left join price_lists l on l.id = c.price_list
order by c.id desc`,
};

/** By calls_by_id in each partition. */
const selectCall: Statement = { name: 'calls.select', text: `select ${COLUMNS} from ${RECORDS} where c.id = $1` };

/**
 * The calls of a request, by calls_by_id and the filters of calls_by_request in each partition; ranges of pages that are not
 * summarised yet are read. $2 is the id of the call where $1 is one of the gateway's own request ids.
 */
const findByRequest: Statement = {
  name: 'calls.find-by-request',
  text: `select ${COLUMNS} from ${RECORDS}
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

export interface CallsStore {
  /** Newest first: those of a request, by its id here, at the provider, or at the client, or by the id of the call. */
  findByRequest(requestId: string, limit: number, of?: OwnedBy): Promise<CallRecord[]>;
  /**
   * Calls that a filter lets through, newest first. If the time is over before there are enough, it returns what it has found and
   * where to look on. Without a `timing` it looks at everything.
   */
  list(
    filter: CallFilter,
    beforeId: string | null,
    limit: number,
    timing?: SliceTiming,
  ): Promise<LookedThrough<CallRecord>>;
  find(id: string): Promise<CallRecord | null>;
  /** Makes the filters by which request ids are found of what has been recorded since the last time. */
  summariseRequestIds(): Promise<void>;
  /** Prepares the partitions of this month and the next two. Call records of a month without one go to the default. */
  preparePartitions(now: Date): Promise<void>;
}

/** The servers do it too, from time to time; the embedded engine does not. It keeps nobody from writing. */
const summariseRequestIds: Statement = {
  name: 'calls.summarise-request-ids',
  text: `select brin_summarize_new_values(inhrelid::regclass) as ranges from pg_inherits
where inhparent = to_regclass('calls_by_request')`,
};

const MONTHS_AHEAD = 2;

/** Creating a table that exists already takes a connection, and waits for whoever works on `calls`. */
const findMissingTables: Statement = {
  name: 'calls.find-missing-tables',
  text: 'select name from unnest($1::text[]) as name where to_regclass(name) is null',
};

interface Partition {
  readonly name: string;
  readonly from: Date;
  readonly to: Date;
}

function partitionsFrom(now: Date): Partition[] {
  return Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) =>
    partitionOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1))),
  );
}

/** The partition of call records of the month in which an instant is. */
export function partitionOf(at: Date): Partition {
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
  return { name: `calls_${from.toISOString().slice(0, 7).replace('-', '_')}`, from, to };
}

/** Makes a partition, unless it is there. */
export function createPartition({ name, from, to }: Partition): Statement {
  return {
    name: `calls.create-partition-${name}`,
    text: `create table if not exists ${name} partition of calls
for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  };
}

export function createCallsStore(database: Lane): CallsStore {
  const listKeys = createCallList(database);
  return {
    async list(filter, beforeId, limit, timing = UNHURRIED) {
      const { items, next } = await listKeys(filter, beforeId, limit, timing);
      const rows = items.length === 0 ? [] : await database.query<CallRow>(selectListed, keyParameters(items));
      return { items: rows.map(toCallRecord), next };
    },
    async findByRequest(requestId, limit, { accountId, keyIds } = EVERYBODY) {
      const of = [accountId, keyIds === null ? null : toArray(keyIds)];
      const rows = await database.query<CallRow>(findByRequest, [requestId, callIdOf(requestId), limit, ...of]);
      return rows.map(toCallRecord);
    },
    async find(id) {
      const [row] = await database.query<CallRow>(selectCall, [id]);
      return row === undefined ? null : toCallRecord(row);
    },
    async summariseRequestIds() {
      await database.query(summariseRequestIds);
    },
    async preparePartitions(now) {
      const partitions = partitionsFrom(now);
      const missing = await database.query<{ name: string }>(findMissingTables, [
        toArray(partitions.map(({ name }) => name)),
      ]);
      for (const { name, from, to } of partitions) {
        if (!missing.some((table) => table.name === name)) continue;
        await database.query(createPartition({ name, from, to })).catch((error: unknown) => {
          if (!isPartitionNeedless(error)) throw error;
        });
      }
    },
  };
}

const DUPLICATE_TABLE = '42P07';
const CHECK_VIOLATION = '23514';

/** Another node was quicker, or the default partition already has records of that month, which then stay there. */
function isPartitionNeedless(error: unknown): boolean {
  const state = sqlState(error);
  return state === DUPLICATE_TABLE || state === CHECK_VIOLATION;
}

function toCallRecord(row: CallRow): CallRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    context: row.context,
    operation: row.operation,
    model: row.model,
    provider: row.provider,
    providerModel: row.provider_model,
    failedRoutes: row.failed_routes,
    isStream: row.is_stream,
    status: row.status,
    httpStatus: row.http_status,
    errorCode: row.error_code,
    requestId: row.request_id,
    clientRequestId: row.client_request_id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    firstByteMs: row.first_byte_ms,
    usageSource: row.usage_source,
    units: toUnits(row),
    images: Number(row.images),
    priceRule: row.price_rule,
    prices: row.prices,
    priceFactorBasisPoints: priceFactorOf(row),
    chargeNano: row.charge_nano,
    costNano: row.cost_nano,
    reservedNano: row.reserved_nano,
    notes: row.notes,
  };
}

/** The list price is recorded as `null`. */
function priceFactorOf({ context, status, price_factor_basis_points: recorded }: CallRow): number | null {
  if (context === 'coding' || status === 'unresolved' || status === 'resolved') return null;
  return recorded ?? LIST_PRICE_BASIS_POINTS;
}

function toUnits(row: CallRow): UnitCounts {
  return {
    ...byUnit((unit) => row.other_units?.[unit] ?? 0),
    ...Object.fromEntries(unitColumns.map(({ unit, column }) => [unit, Number(row[column])])),
  };
}
