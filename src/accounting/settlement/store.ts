import { columnsOf, toTimestamp, writeRows } from '../../db/columns.ts';
import { type Database, type Query, type Statement, toArray } from '../../db/database.ts';
import { Reads } from '../../db/reads.ts';
import type { Usage } from '../../protocols/metering/usage-facts.ts';
import { otherUnits, unitColumns } from '../../protocols/metering/usage-units.ts';
import type { CallOutcome, CallStatus, EndedCall } from '../ledger/call-outcome.ts';
import type { UnitPrices } from '../pricing/charge.ts';
import { accountWrites, copyAccounts } from '../reservations/account-store.ts';
import { type CallFacts, readFacts } from '../reservations/call-facts.ts';
import { type CallName, callKey, type OpenReservation } from '../reservations/reservation.ts';
import { addOpenReads, deleteWrites } from '../reservations/store.ts';
import { type ChargeEntry, decideEnds, decideUnresolved } from './settle.ts';
import type { SettlementRecord } from './settlement-record.ts';

/**
 * The SQL of the ends of calls. Each batch is one transaction of two messages: it locks the accounts, reads what its calls
 * have reserved and whether they are on record, and writes what `settle.ts` decides.
 */

/** Plan: calls by primary key, in the one partition of each call's instant. */
const readRecorded: Statement = {
  name: 'settlement.read-recorded',
  text: `select c.account_id, c.id as call_id, c.status
from unnest($1::text[], $2::text[], $3::timestamptz[]) as v (account_id, id, started_at)
join calls c on c.account_id = v.account_id and c.id = v.id and c.started_at = v.started_at`,
};

/** Locked in the order in which they are claimed. Plan: stored_responses_by_claim. */
const lockClaims: Statement = {
  name: 'settlement.lock-claims',
  text: `select k.account_id, k.claim_id from stored_responses k
join unnest($1::text[], $2::text[]) as v (account_id, claim_id)
  on v.account_id = k.account_id and v.claim_id = k.claim_id
order by k.account_id, k.key_id, k.idempotency_key
for update of k`,
};

/** A stored response is valid from the end of its call on. Plan: stored_responses_by_claim. */
const makeResponsesValid: Statement = {
  name: 'settlement.make-responses-valid',
  text: `update stored_responses k set is_valid = true
from unnest($1::text[], $2::text[]) as v (account_id, claim_id)
where k.account_id = v.account_id and k.claim_id = v.claim_id`,
};

/** A column of a record, its type in the parameters, and its value; JSON travels as text. */
interface RecordColumn {
  readonly name: string;
  readonly type: 'text' | 'int' | 'bigint' | 'boolean' | 'timestamptz' | 'jsonb';
  read(outcome: CallOutcome): string | number | bigint | boolean | null;
}

/** All of a record but its price list. */
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
  { name: 'first_byte_ms', type: 'int', read: (o) => o.firstByteMs },
  { name: 'usage_source', type: 'text', read: (o) => o.usage?.source ?? null },
  ...unitColumns.map(({ unit, column }): RecordColumn => {
    return { name: column, type: 'bigint', read: (o) => o.usage?.[unit] ?? 0 };
  }),
  { name: 'other_units', type: 'jsonb', read: (o) => otherUnitsText(o.usage) },
  { name: 'images', type: 'bigint', read: (o) => countImages(o.usage) },
  { name: 'price_rule', type: 'text', read: (o) => o.price.rule },
  { name: 'charge_nano', type: 'bigint', read: (o) => o.chargeNano },
  {
    name: 'failed_routes',
    type: 'jsonb',
    read: (o) => (o.failedRoutes.length === 0 ? null : JSON.stringify(o.failedRoutes)),
  },
  { name: 'notes', type: 'jsonb', read: (o) => (o.notes === undefined ? null : JSON.stringify(o.notes)) },
];

/** The key of a record. */
const KEY: readonly string[] = ['account_id', 'id', 'started_at'];

/**
 * Records ends. The record of an unresolved call is replaced, and `reserved_nano`, which only unresolved calls have, is
 * cleared. Calls name their price list by its place among those of the batch: a list is long, and nearly all calls have the
 * same one. Plan: inserts that find calls by primary key.
 */
const recordCalls: Statement = {
  name: 'settlement.record-calls',
  text: `insert into calls (${RECORD.map(({ name }) => name).join(', ')}, prices)
select ${RECORD.map(({ name, type }) => (type === 'jsonb' ? `${name}::jsonb` : name)).join(', ')},
  ($${RECORD.length + 2}::jsonb[])[price_list_no]
from unnest(
  ${RECORD.map(({ type }, i) => `$${i + 1}::${type === 'jsonb' ? 'text' : type}[]`).join(', ')}, $${RECORD.length + 1}::int[]
) as o (${RECORD.map(({ name }) => name).join(', ')}, price_list_no)
on conflict (account_id, id, started_at) do update set
  ${[...RECORD.map(({ name }) => name).filter((name) => !KEY.includes(name)), 'prices', 'reserved_nano']
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}
where calls.status = 'unresolved'`,
};

const insertCharges: Statement = {
  name: 'settlement.insert-charges',
  text: `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
select account_id, entry_no, 'charge', -charge_nano, balance_after_nano, call_id, created_at
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[])
  as e (account_id, entry_no, charge_nano, balance_after_nano, call_id, created_at)`,
};

/**
 * Stores the newest maker of a key. Rows go in by the order of their keys, so that two nodes that record the same ones
 * wait for each other instead of deadlocking. Plan: primary key.
 */
const recordContinuationKeys: Statement = {
  name: 'settlement.record-continuation-keys',
  text: `insert into continuation_keys (account_id, key, model, provider, made_at, total_tokens)
select distinct on (account_id, key) account_id, key, model, provider, made_at, total_tokens
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[])
  as made (account_id, key, model, provider, made_at, total_tokens)
order by account_id, key, made_at desc
on conflict (account_id, key) do update
  set model = excluded.model, provider = excluded.provider, made_at = excluded.made_at,
    total_tokens = excluded.total_tokens
  where continuation_keys.made_at <= excluded.made_at`,
};

/** What is recorded of an unresolved call: what was known when it was admitted, and nothing of its end. */
const recordUnresolved: Statement = {
  name: 'settlement.record-unresolved',
  text: `insert into calls (
  account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream, status,
  error_code, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
  reasoning_tokens, price_rule, reserved_nano
)
select c.account_id, c.id, c.started_at, $13::timestamptz, c.key_id, c.context, c.operation, c.model, c.provider,
  c.provider_model, c.is_stream, 'unresolved', 'call_unresolved', c.request_id, 0, 0, 0, 0, 0, 0, c.price_rule,
  c.reserved_nano
from unnest(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[],
  $10::boolean[], $11::text[], $12::text[], $14::bigint[]
) as c (
  account_id, id, key_id, model, started_at, context, operation, provider, provider_model, is_stream, request_id,
  price_rule, reserved_nano
)
on conflict do nothing`,
};

/** The result of an end: the money that remains, or that a repeat of the call runs elsewhere. */
export type EndResult = EndedCall | 'claim_lost';

export interface SettlementStore {
  /**
   * Ends a batch of calls: all of it or nothing. One result an end, in the same order; `availableNano` is what remains for
   * the account after the whole batch. Of several ends of one call the first counts.
   */
  end(endings: readonly SettlementRecord[], today: string): Promise<readonly EndResult[]>;
  /**
   * Releases the reservations of calls whose node is dead and records the calls as unresolved, with nothing charged; returns
   * those that were recorded. All or nothing, and safe to repeat.
   */
  resolve(calls: readonly CallName[], now: Date, today: string): Promise<readonly OpenReservation[]>;
}

export function createSettlementStore(database: Database): SettlementStore {
  return {
    end(endings, today) {
      const reads = new Reads();
      const outcomes = endings.map(({ outcome }) => outcome);
      const readOpen = addOpenReads(reads, outcomes, {
        hasPlans: endings.some(({ plan }) => plan !== null),
        hasKeyLimits: endings.some(({ key }) => key !== null),
      });
      const records = reads.add<RecordedRow>(
        readRecorded,
        columnsOf(
          outcomes,
          (outcome) => outcome.accountId,
          (outcome) => outcome.callId,
          (outcome) => toTimestamp(outcome.startedAtMs),
        ),
      );
      const kept = endings.map((ending) => ending.kept).filter((each) => each !== null);
      const claims = reads.addIf<ClaimRow>(kept.length > 0, lockClaims, claimColumns(kept));
      return database.readThenWrite({
        name: 'settlement.end',
        reads: reads.queries,
        decide(rows) {
          const { accounts, reservations } = readOpen(rows);
          const before = copyAccounts(accounts);
          const decision = decideEnds(
            endings,
            {
              accounts,
              reservations,
              recorded: toRecorded(records(rows)),
              claims: new Set(claims(rows).map((row) => `${row.account_id} ${row.claim_id}`)),
            },
            today,
          );
          const result = decision.verdicts.map((verdict, i): EndResult => {
            if (verdict === 'claim_lost') return verdict;
            const money = accounts.get(outcomes[i]!.accountId)?.money;
            return { availableNano: money === undefined ? null : money.balanceNano - money.reservedNano };
          });
          const writes = [
            ...deleteWrites(decision.freed),
            ...recordWrites(decision.fresh.map(({ outcome }) => outcome)),
            ...chargeWrites(decision.charges),
            ...continuationWrites(decision.fresh),
            ...validWrites(decision.fresh),
            ...accountWrites(accounts, before),
          ];
          return { result, writes };
        },
      });
    },
    resolve(calls, now, today) {
      const reads = new Reads();
      const readOpen = addOpenReads(reads, calls, { hasPlans: true, hasKeyLimits: true });
      const records = reads.add<RecordedRow>(readRecordedOfReservations, columnsOf(calls, ...NAME));
      return database.readThenWrite({
        name: 'settlement.resolve',
        reads: reads.queries,
        decide(rows) {
          const { accounts, reservations } = readOpen(rows);
          const before = copyAccounts(accounts);
          const unresolved = decideUnresolved({ accounts, reservations, recorded: toRecorded(records(rows)) }, today);
          const recorded = unresolved.filter(({ isRecorded }) => isRecorded).map(({ reservation }) => reservation);
          const writes = [
            ...deleteWrites(unresolved.map(({ reservation }) => reservation)),
            ...unresolvedWrites(recorded, now),
            ...accountWrites(accounts, before),
          ];
          return { result: recorded, writes };
        },
      });
    },
  };
}

/** As `readRecorded`, for calls of which only the reservation is known. Plan: calls by primary key in each partition. */
const readRecordedOfReservations: Statement = {
  name: 'settlement.read-recorded-of-reservations',
  text: `select c.account_id, c.id as call_id, c.status
from unnest($1::text[], $2::text[]) as v (account_id, id)
join calls c on c.account_id = v.account_id and c.id = v.id`,
};

const NAME = [({ accountId }: CallName) => accountId, ({ callId }: CallName) => callId] as const;

interface RecordedRow {
  account_id: string;
  call_id: string;
  status: CallStatus;
}

interface ClaimRow {
  account_id: string;
  claim_id: string;
}

function toRecorded(rows: readonly RecordedRow[]): Map<string, CallStatus> {
  return new Map(rows.map((row) => [callKey({ accountId: row.account_id, callId: row.call_id }), row.status]));
}

function claimColumns(kept: readonly CallName[]): string[] {
  return [toArray(kept.map(({ accountId }) => accountId)), toArray(kept.map(({ callId }) => callId))];
}

function validWrites(fresh: readonly SettlementRecord[]): Query[] {
  const kept = fresh.map((ending) => ending.kept).filter((each) => each !== null);
  return kept.length === 0 ? [] : [{ statement: makeResponsesValid, parameters: claimColumns(kept) }];
}

function chargeWrites(charges: readonly ChargeEntry[]): Query[] {
  return writeRows(insertCharges, charges, [
    (entry) => entry.accountId,
    (entry) => entry.entryNo,
    (entry) => entry.chargeNano,
    (entry) => entry.balanceAfterNano,
    (entry) => entry.callId,
    (entry) => toTimestamp(entry.endedAtMs),
  ]);
}

function continuationWrites(fresh: readonly SettlementRecord[]): Query[] {
  const rows = fresh.flatMap(({ outcome, made }) =>
    made === null ? [] : made.keys.map((key) => ({ ...made, key, accountId: outcome.accountId })),
  );
  return writeRows(recordContinuationKeys, rows, [
    (row) => row.accountId,
    (row) => row.key,
    (row) => row.model,
    (row) => row.providerId,
    (row) => toTimestamp(row.atMs),
    (row) => row.totalTokens ?? null,
  ]);
}

function recordWrites(outcomes: readonly CallOutcome[]): Query[] {
  const priceLists = [...new Set(outcomes.map((o) => o.price.prices))];
  const columns = [...RECORD.map(({ read }) => read), (o: CallOutcome) => priceLists.indexOf(o.price.prices) + 1];
  return writeRows(recordCalls, outcomes, columns, [toArray(priceLists.map(pricesText))]);
}

/** Facts that are absent, because an older version admitted the call, are recorded empty. */
function unresolvedWrites(reservations: readonly OpenReservation[], now: Date): Query[] {
  type Known = { readonly r: OpenReservation; readonly facts: Partial<CallFacts> };
  const known = reservations.map((r): Known => ({ r, facts: readFacts(r.facts) }));
  const columns = [
    ({ r }: Known) => r.accountId,
    ({ r }: Known) => r.callId,
    ({ r }: Known) => r.keyId,
    ({ r }: Known) => r.model,
    ({ r, facts }: Known) => toTimestamp(facts.startedAtMs ?? r.reservedAtMs),
    ({ r, facts }: Known) => facts.context ?? (r.subscriptionId === null ? 'balance' : 'coding'),
    ({ facts }: Known) => facts.operation ?? '',
    ({ facts }: Known) => facts.provider ?? '',
    ({ facts }: Known) => facts.providerModel ?? '',
    ({ facts }: Known) => facts.isStream ?? false,
    ({ facts }: Known) => facts.requestId ?? '',
    ({ facts }: Known) => facts.priceRule ?? 'base',
  ];
  const [amounts] = columnsOf(known, ({ r }) => r.amountNano);
  return writeRows(recordUnresolved, known, columns, [now, amounts!]);
}

/** Units that have no column of their own, as JSON; `null` where there are none. */
function otherUnitsText(usage: Usage | null): string | null {
  if (usage === null) return null;
  const counts: Record<string, number> = {};
  for (const unit of otherUnits) {
    // Journal entries of earlier versions lack the units that were added since.
    const count = usage[unit] ?? 0;
    if (count > 0) counts[unit] = count;
  }
  return Object.keys(counts).length === 0 ? null : JSON.stringify(counts);
}

function countImages(usage: Usage | null): number {
  return usage === null ? 0 : usage.images.reduce((sum, { count }) => sum + count, 0);
}

/** Price lists belong to the configuration and recur in every call, so their text is cached as long as they live. */
const priceTexts = new WeakMap<UnitPrices, string>();

function pricesText(prices: UnitPrices): string {
  let text = priceTexts.get(prices);
  if (text === undefined) {
    text = JSON.stringify(prices, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    priceTexts.set(prices, text);
  }
  return text;
}
