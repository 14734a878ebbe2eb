import { insertOfRows } from '../../db/citus.ts';
import { fieldsOf, toTimestamp } from '../../db/columns.ts';
import { type Query, type SqlValue, type Statement, toArray } from '../../db/database.ts';
import { JsonRows, type WrittenColumn } from '../../db/json-rows.ts';
import {
  bigintColumn,
  booleanColumn,
  instantColumn,
  jsonbColumn,
  orNull,
  tableColumns,
  textColumn,
} from '../../db/table.ts';
import { countImages, type Usage, type UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { otherUnits, unitColumns } from '../../protocols/metering/usage-units.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { CountedUse } from '../counts/counted-use.ts';
import type { UnitPrices } from '../pricing/charge.ts';
import { LIST_PRICE_BASIS_POINTS } from '../pricing/price-factor.ts';
import { priceListId } from '../pricing/price-list-store.ts';
import { type OpenReservation, readFacts } from '../reservations/reservation.ts';
import type { CallNotes, CallOutcome } from './call-outcome.ts';

/** The end of a call as a row. The transactions of `settlement/` write it. */

export interface RecordedEnd {
  readonly outcome: CallOutcome;
  readonly usage: UsageFacts | null;
  /** The counters that include the call; `null`: none. */
  readonly counted: CountedUse | null;
  /** Position among the price lists of the batch, from 1. Set just before the write. */
  priceListNo?: number;
}

const columnIn =
  <Member>(within: 'outcome' | 'usage') =>
  <Field extends keyof Member & string>(
    name: string,
    type: string,
    field: Field,
    write: ((value: NonNullable<Member[Field]>) => SqlValue) | null = null,
    without?: SqlValue,
  ): WrittenColumn => ({ name, type, within, field, write, without });
const ofOutcome = columnIn<CallOutcome>('outcome');
const ofUsage = columnIn<UsageFacts>('usage');

/** All columns except the price list. Counts of 0 are omitted from the parameter. */
const RECORD: readonly WrittenColumn[] = [
  ofOutcome('account_id', 'text', 'accountId'),
  ofOutcome('id', 'text', 'callId'),
  ofOutcome('started_at', 'timestamptz', 'startedAtMs', toTimestamp),
  ofOutcome('ended_at', 'timestamptz', 'endedAtMs', toTimestamp),
  ofOutcome('key_id', 'text', 'keyId'),
  ofOutcome('group_id', 'text', 'groupId'),
  ofOutcome('context', 'text', 'context'),
  ofOutcome('operation', 'text', 'operation'),
  ofOutcome('model', 'text', 'model'),
  ofOutcome('provider', 'text', 'provider'),
  ofOutcome('provider_model', 'text', 'providerModel'),
  ofOutcome('is_stream', 'boolean', 'isStream'),
  ofOutcome('status', 'text', 'status'),
  ofOutcome('http_status', 'int', 'httpStatus'),
  ofOutcome('error_code', 'text', 'errorCode'),
  ofOutcome('request_id', 'text', 'requestId'),
  ofOutcome('client_request_id', 'text', 'clientRequestId'),
  ofOutcome('first_byte_ms', 'int', 'firstByteMs'),
  ofUsage('usage_source', 'text', 'source'),
  ...unitColumns.map(({ unit, column }) => ofUsage(column, 'bigint', unit, null, 0)),
  ofOutcome('other_units', 'jsonb', 'usage', otherUnitsText),
  ofOutcome('images', 'bigint', 'usage', (usage) => countImages(usage) || null),
  ofOutcome('price_rule', 'text', 'price', ({ rule }) => rule),
  ofOutcome('price_factor_basis_points', 'int', 'priceFactorBasisPoints', null, LIST_PRICE_BASIS_POINTS),
  ofOutcome('charge_nano', 'bigint', 'chargeNano'),
  ofOutcome('failed_routes', 'jsonb', 'failedRoutes', (routes) =>
    routes.length === 0 ? null : JSON.stringify(routes),
  ),
  ofOutcome('notes', 'jsonb', 'notes', JSON.stringify),
  ofOutcome('cost_nano', 'bigint', 'costNano'),
  ofOutcome('caller', 'jsonb', 'caller', JSON.stringify),
];

const COUNTS: ReadonlySet<string> = new Set([...unitColumns.map(({ column }) => column), 'images']);

const valueSql = ({ name }: WrittenColumn): string => (COUNTS.has(name) ? `coalesce(${name}, 0)` : name);

const RECORDS = new JsonRows<RecordedEnd>([
  ...RECORD,
  { name: 'counted', type: 'jsonb', within: null, field: 'counted', write: JSON.stringify },
  { name: 'price_list_no', type: 'int', within: null, field: 'priceListNo', write: null },
]);

const KEY: readonly string[] = ['account_id', 'id', 'started_at'];

/**
 * Inserts a record, or replaces the record of an unresolved call. A record refers to its price list by position in the batch, because ids
 * are long. Uses the primary key.
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

/** Queues calls for the usage sums, one row per batch for speed. A trigger queues records that replace an unresolved one. */
export const queueForUsage: Statement = {
  name: 'settlement.queue-for-usage',
  text: `insert into usage_queue (account_ids, call_ids, started_ats)
values ($1::text[], $2::text[], $3::timestamptz[])`,
};

/** Columns of an unresolved call. Its record contains only what was known at admission. */
const UNRESOLVED = tableColumns({
  accountId: textColumn('account_id'),
  callId: textColumn('id'),
  keyId: textColumn('key_id'),
  groupId: orNull(textColumn('group_id')),
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
  caller: orNull(jsonbColumn<RecordedCaller>('caller')),
});

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

/** Returns account ids, call ids and start times as array parameters. */
export const namesOf = (calls: readonly CallOutcome[]): string[] => [
  ...fieldsOf(calls, 'accountId', 'callId'),
  toArray(calls.map(({ startedAtMs }) => toTimestamp(startedAtMs))),
];

/** @param priceLists the price lists of the calls without duplicates; `StoredPriceLists` writes them */
export function recordWrites(ends: readonly RecordedEnd[], priceLists: readonly UnitPrices[]): Query[] {
  for (const end of ends) end.priceListNo = priceLists.indexOf(end.outcome.price.prices) + 1;
  return RECORDS.write(recordCalls, ends, [toArray(priceLists.map(priceListId))]);
}

/** @param ends without calls that have an unresolved record; a trigger queues those */
export function queueWrites(ends: readonly RecordedEnd[]): Query[] {
  if (ends.length === 0) return [];
  return [{ statement: queueForUsage, parameters: namesOf(ends.map(({ outcome }) => outcome)) }];
}

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
  | 'keyBudgetId'
  | 'memberBudgetId'
  | 'callerBudgetIds'
>;

/** Writes records of unresolved calls. Facts that cannot be read are left empty. */
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

const NO_FACTS = {
  operation: '',
  provider: '',
  providerModel: '',
  isStream: false,
  requestId: '',
  priceRule: 'base',
  groupId: null,
  caller: null,
};

/** What an operator needs to resolve the call, because the reservation is deleted. */
function reservedNotes(reservation: LostReservation): CallNotes | null {
  const { subscriptionId, periodNo, tokens, memberId, keyBudgetId, memberBudgetId, callerBudgetIds } = reservation;
  const isOnPlan = subscriptionId !== null && periodNo !== null;
  const hasBudgets = (keyBudgetId ?? memberBudgetId ?? callerBudgetIds) !== null;
  const callers = callerBudgetIds && { callers: callerBudgetIds };
  const budgetIds = hasBudgets ? { key: keyBudgetId, member: memberBudgetId, ...callers } : null;
  if (!isOnPlan && memberId === null && budgetIds === null) return null;
  return {
    ...(isOnPlan && { reservedTokens: { subscriptionId, periodNo, tokens: tokens ?? 0 } }),
    ...(memberId !== null && { memberId }),
    ...(budgetIds !== null && { budgetIds }),
  };
}

/** JSON with the units that have no column of their own; `null`: none. */
function otherUnitsText(usage: Usage): string | null {
  let counts: Record<string, number> | null = null;
  for (const unit of otherUnits) {
    const count = usage[unit];
    if (count > 0) counts = Object.assign(counts ?? {}, { [unit]: count });
  }
  return counts && JSON.stringify(counts);
}
