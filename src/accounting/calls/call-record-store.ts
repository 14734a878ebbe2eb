import { insertOfRows } from '../../db/citus.ts';
import { toTimestamp, writeRows } from '../../db/columns.ts';
import { type Query, type Statement, toArray } from '../../db/database.ts';
import { JsonRows } from '../../db/json-rows.ts';
import {
  bigintColumn,
  booleanColumn,
  instantColumn,
  jsonbColumn,
  orNull,
  tableColumns,
  textColumn,
} from '../../db/table.ts';
import { countImages, type Usage } from '../../protocols/metering/usage-facts.ts';
import { otherUnits, unitColumns } from '../../protocols/metering/usage-units.ts';
import { type CountedUse, countedText } from '../counts/counted-use.ts';
import { LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { priceListId } from '../pricing/price-list-store.ts';
import { type OpenReservation, readFacts } from '../reservations/reservation.ts';
import type { CallNotes, CallOutcome } from './call-outcome.ts';

/** The SQL that writes call records, in the transactions of `store.ts`. */

/** A column of a record, its type, and its value: JSON as text, and the count 0 as `null`. */
interface RecordColumn {
  readonly name: string;
  readonly type: 'text' | 'int' | 'bigint' | 'count' | 'boolean' | 'timestamptz' | 'jsonb';
  read(outcome: CallOutcome): string | number | bigint | boolean | null;
}

/** All of a record but the id of its price list. */
const RECORD: readonly RecordColumn[] = [
  { name: 'account_id', type: 'text', read: (o) => o.accountId },
  { name: 'id', type: 'text', read: (o) => o.callId },
  { name: 'started_at', type: 'timestamptz', read: (o) => toTimestamp(o.startedAtMs) },
  { name: 'ended_at', type: 'timestamptz', read: (o) => toTimestamp(o.endedAtMs) },
  { name: 'key_id', type: 'text', read: (o) => o.keyId },
  { name: 'context', type: 'text', read: (o) => o.context },
  { name: 'operation', type: 'text', read: (o) => o.operation },
  { name: 'model', type: 'text', read: (o) => o.model },
  { name: 'provider', type: 'text', read: (o) => o.provider },
  { name: 'provider_model', type: 'text', read: (o) => o.providerModel },
  { name: 'is_stream', type: 'boolean', read: (o) => o.isStream },
  { name: 'status', type: 'text', read: (o) => o.status },
  { name: 'http_status', type: 'int', read: (o) => o.httpStatus },
  { name: 'error_code', type: 'text', read: (o) => o.errorCode },
  { name: 'request_id', type: 'text', read: (o) => o.requestId },
  { name: 'client_request_id', type: 'text', read: (o) => o.clientRequestId },
  { name: 'first_byte_ms', type: 'int', read: (o) => o.firstByteMs },
  { name: 'usage_source', type: 'text', read: (o) => o.usage?.source ?? null },
  ...unitColumns.map(({ unit, column }): RecordColumn => {
    return { name: column, type: 'count', read: (o) => o.usage?.[unit] || null };
  }),
  { name: 'other_units', type: 'jsonb', read: (o) => otherUnitsText(o.usage) },
  { name: 'images', type: 'count', read: (o) => (o.usage && countImages(o.usage)) || null },
  { name: 'price_rule', type: 'text', read: (o) => o.price.rule },
  {
    name: 'price_factor_basis_points',
    type: 'int',
    read: (o) => (o.priceFactorBasisPoints === LIST_PRICE_BASIS_POINTS ? null : o.priceFactorBasisPoints),
  },
  { name: 'charge_nano', type: 'bigint', read: (o) => o.chargeNano },
  {
    name: 'failed_routes',
    type: 'jsonb',
    read: (o) => (o.failedRoutes.length === 0 ? null : JSON.stringify(o.failedRoutes)),
  },
  { name: 'notes', type: 'jsonb', read: (o) => (o.notes === undefined ? null : JSON.stringify(o.notes)) },
  { name: 'cost_nano', type: 'bigint', read: (o) => o.costNano },
];

/** SQL: the value of a column, from its row of the parameter. */
const valueSql = ({ name, type }: RecordColumn): string => (type === 'count' ? `coalesce(${name}, 0)` : name);

/** What is written of an end: a record, what it counts for, and the place of its price list among those of the batch. */
const RECORDS = new JsonRows<RecordedEnd & { readonly priceListNo: number }>([
  ...RECORD.map(({ name, type, read }) => ({
    name,
    type: type === 'count' ? 'bigint' : type,
    value: ({ outcome }: RecordedEnd) => read(outcome),
  })),
  { name: 'counted', type: 'jsonb', value: ({ counted }) => countedText(counted) },
  { name: 'price_list_no', type: 'int', value: ({ priceListNo }) => priceListNo },
]);

/** The key of a record. */
const KEY: readonly string[] = ['account_id', 'id', 'started_at'];

/**
 * Records ends. The record of an unresolved call is replaced, and `reserved_nano`, which only unresolved calls have, is
 * cleared. Calls name their price list by its place among those of the batch: an id is longer, and nearly all calls have the
 * same one. Plan: inserts that find calls by primary key.
 */
const recordCalls = insertOfRows(
  'settlement.record-calls',
  (condition) => `insert into calls (${RECORD.map(({ name }) => name).join(', ')}, counted, price_list, is_queued)
select ${RECORD.map(valueSql).join(', ')}, counted, ($2::uuid[])[price_list_no], true
from json_to_recordset($1::json) as o (${RECORDS.columns})
${condition}
on conflict (account_id, id, started_at) do update set
  ${[
    ...RECORD.map(({ name }) => name).filter((name) => !KEY.includes(name)),
    'counted',
    'price_list',
    'is_queued',
    'reserved_nano',
  ]
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}
where calls.status = 'unresolved'`,
  RECORDS,
  'o',
);

/**
 * Queues records for the sums of usage (`accounting/usage/`), one row for a batch: each row more would cost the ends of calls
 * time. Records that replace one of an unresolved call are queued by a trigger.
 */
const queueForUsage: Statement = {
  name: 'settlement.queue-for-usage',
  text: `insert into usage_queue (account_ids, call_ids, started_ats)
values ($1::text[], $2::text[], $3::timestamptz[])`,
};

/** What is known of an unresolved call. */
const UNRESOLVED = tableColumns({
  accountId: textColumn('account_id'),
  callId: textColumn('id'),
  keyId: textColumn('key_id'),
  model: textColumn('model'),
  startedAtMs: instantColumn('started_at'),
  context: textColumn('context'),
  operation: textColumn('operation'),
  provider: textColumn('provider'),
  providerModel: textColumn('provider_model'),
  isStream: booleanColumn('is_stream'),
  requestId: textColumn('request_id'),
  priceRule: textColumn('price_rule'),
  amountNano: orNull(bigintColumn('reserved_nano')),
  notes: orNull(jsonbColumn<CallNotes>('notes')),
});

/** What is recorded of an unresolved call: what was known when it was admitted, and nothing of its end. */
const recordUnresolved: Statement = {
  name: 'settlement.record-unresolved',
  text: `insert into calls (
  ${UNRESOLVED.list}, ended_at, status, error_code, input_tokens, cached_input_tokens, cache_write_tokens,
  cache_write_1h_tokens, output_tokens, reasoning_tokens
)
select c.*, $2::timestamptz, 'unresolved', 'call_unresolved', 0, 0, 0, 0, 0, 0
from ${UNRESOLVED.rows.as('c')}
on conflict do nothing`,
};

/** The end of a call as it is recorded. */
interface RecordedEnd {
  readonly outcome: CallOutcome;
  /** What it counts for; `null`: for nothing. */
  readonly counted: CountedUse | null;
}

/**
 * The writes of ended calls, whose price lists are written by `StoredPriceLists`.
 *
 * @param isOnRecord whether there is a record of the call, as unresolved.
 */
export function recordWrites(ends: readonly RecordedEnd[], isOnRecord: (end: RecordedEnd) => boolean): Query[] {
  const priceLists = [...new Set(ends.map(({ outcome }) => outcome.price.prices))];
  const rows = ends.map((end) => ({ ...end, priceListNo: priceLists.indexOf(end.outcome.price.prices) + 1 }));
  return [
    ...RECORDS.write(recordCalls, rows, [toArray(priceLists.map(priceListId))]),
    ...writeRows(
      queueForUsage,
      ends.filter((end) => !isOnRecord(end)),
      NAME_COLUMNS,
    ),
  ];
}

const NAME_COLUMNS = [
  ({ outcome }: RecordedEnd) => outcome.accountId,
  ({ outcome }: RecordedEnd) => outcome.callId,
  ({ outcome }: RecordedEnd) => toTimestamp(outcome.startedAtMs),
];

/** What the record of an unresolved call says of its reservation. */
export type LostReservation = Pick<
  OpenReservation,
  | 'accountId'
  | 'callId'
  | 'keyId'
  | 'model'
  | 'reservedAtMs'
  | 'facts'
  | 'amountNano'
  | 'subscriptionId'
  | 'periodNo'
  | 'tokens'
  | 'memberId'
>;

/** The writes of unresolved calls. Facts that cannot be read are recorded empty. */
export function unresolvedWrites(reservations: readonly LostReservation[], now: Date): Query[] {
  const calls = reservations.map((reservation) => ({
    ...reservation,
    ...NO_FACTS,
    context: reservation.subscriptionId === null ? 'balance' : 'coding',
    startedAtMs: reservation.reservedAtMs,
    ...readFacts(reservation.facts),
    notes: reservedNotes(reservation),
  }));
  return UNRESOLVED.rows.write(recordUnresolved, calls, [now]);
}

const NO_FACTS = { operation: '', provider: '', providerModel: '', isStream: false, requestId: '', priceRule: 'base' };

/** What counts if an operator resolves the call, of whom the reservation is gone then; `null`: nothing that only that one says. */
function reservedNotes({ subscriptionId, periodNo, tokens, memberId }: LostReservation): CallNotes | null {
  const isOnPlan = subscriptionId !== null && periodNo !== null;
  if (!isOnPlan && memberId === null) return null;
  return {
    ...(isOnPlan && { reservedTokens: { subscriptionId, periodNo, tokens: tokens ?? 0 } }),
    ...(memberId !== null && { memberId }),
  };
}

/** Units that have no column of their own, as JSON; `null` if there are none. */
function otherUnitsText(usage: Usage | null): string | null {
  if (usage === null) return null;
  const counts: Record<string, number> = {};
  for (const unit of otherUnits) {
    const count = usage[unit];
    if (count > 0) counts[unit] = count;
  }
  return Object.keys(counts).length === 0 ? null : JSON.stringify(counts);
}
