import { insertOfRows } from '../../db/citus.ts';
import { fieldsOf, toTimestamp, writeRows } from '../../db/columns.ts';
import type { Query, ReadRows, Statement, StoredRow } from '../../db/database.ts';
import type { PartitionDatabase } from '../../db/home-pools.ts';
import {
  bigintColumn,
  countColumn,
  instantColumn,
  jsonColumn,
  orNull,
  selection,
  tableColumns,
  textColumn,
} from '../../db/table.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BalanceAfterEnd, CallOutcome, CallStatus } from '../calls/call-outcome.ts';
import { namesOf, queueForUsage, queueWrites, recordWrites, unresolvedWrites } from '../calls/call-record-store.ts';
import { continuationWrites } from '../continuation/continuation-key-store.ts';
import type { CountedKeyCharge } from '../counts/counted-use.ts';
import { type PriceList, priceListWrites, type StoredPriceLists } from '../pricing/price-list-store.ts';
import type { BillingTime, RunningPeriods } from '../pricing/running-periods.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';
import type { AccountState } from '../reservations/account-state.ts';
import type { AccountRead } from '../reservations/account-store.ts';
import { accountWrites, copyAccounts } from '../reservations/account-writes-store.ts';
import { futureCounts, warnOfFutureCounts } from '../reservations/future-counts.ts';
import type { LockMode } from '../reservations/locked-accounts.ts';
import {
  CALL_NAME,
  type CallName,
  callKey,
  type OpenReservation,
  type ReservedLimits,
} from '../reservations/reservation.ts';
import { countedReads, deleteReservations, deleteWrites, openCallReads, openCallsOf } from '../reservations/store.ts';
import { HAS_SLOT, RESERVED_LIMITS } from '../reservations/tables.ts';
import { decideEnds, decideUnresolved, type EndState, type FreshEnd } from './settle.ts';
import type { SettlementRecord } from './settlement-record.ts';

/** This file reads reservations and records with their accounts locked, and writes the decisions of `settle.ts`. */

/**
 * Selects reservations and the status of records by position in the batch. Bounds as parameters make PostgreSQL open only the month of each
 * call. The limit prevents a join of all records, which is cheaper only while there are few. Uses the primary key of reservations, and an
 * index of the month.
 */
const readCallsAtEnd: Statement = {
  name: 'settlement.read-ending-calls',
  text: `select v.no::int as no, c.status, ${RESERVED_LIMITS.of('r')}, ${HAS_SLOT},
  case when r.call_id is null and c.id is null then is_of_dropped_month(v.started_at) else false end as is_dropped
from unnest($1::text[], $2::text[], $3::timestamptz[]) with ordinality as v (account_id, call_id, started_at, no)
left join reservations r on r.account_id = v.account_id and r.call_id = v.call_id
left join lateral (
  select id, status from calls
  where account_id = v.account_id and id = v.call_id and started_at = v.started_at
    and started_at between $4::timestamptz and $5::timestamptz
  limit 1
) c on true`,
};

const RECORDED = selection({
  accountId: textColumn('c.account_id'),
  callId: textColumn('c.id as call_id'),
  status: textColumn<CallStatus>('c.status'),
});

/** Selects the records of calls whose start is known only from the reservation. Uses an index of each month. */
const readRecorded: Statement = {
  name: 'settlement.read-recorded',
  text: `select ${RECORDED.list}
from unnest($1::text[], $2::text[]) as v (account_id, id)
join calls c on c.account_id = v.account_id and c.id = v.id`,
};

const CLAIMS = selection({ accountId: textColumn('k.account_id'), callId: textColumn('k.claim_id') });

/** Locks claims in the same order as new claims do, which prevents deadlocks. Uses stored_responses_by_claim. */
const lockClaims: Statement = {
  name: 'settlement.lock-claims',
  text: `select ${CLAIMS.list} from stored_responses k
join unnest($1::text[], $2::text[]) as v (account_id, claim_id)
  on v.account_id = k.account_id and v.claim_id = k.claim_id
order by k.account_id, k.key_id, k.idempotency_key
for update of k`,
};

/** Makes responses valid. They expire counted from now: a record may have waited for longer. Uses stored_responses_by_claim. */
const makeResponsesValid: Statement = {
  name: 'settlement.make-responses-valid',
  text: `update stored_responses k set is_valid = true, expires_at = v.expires_at
from unnest($1::text[], $2::text[], $3::timestamptz[]) as v (account_id, claim_id, expires_at)
where k.account_id = v.account_id and k.claim_id = v.claim_id`,
};

const CHARGES = tableColumns({
  accountId: textColumn('account_id'),
  entryNo: bigintColumn('entry_no'),
  chargeNano: bigintColumn('charge_nano'),
  balanceAfterNano: bigintColumn('balance_after_nano'),
  callId: textColumn('call_id'),
  endedAtMs: instantColumn('created_at'),
  dayNo: countColumn('day_no'),
  dayBeganAtMs: instantColumn('day_began_at'),
  countedKey: orNull(jsonColumn<CountedKeyCharge>('counted_key')),
});

const insertCharges = insertOfRows(
  'settlement.insert-charges',
  (condition) => `insert into ledger_entries (
  account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at, day_no, day_began_at, counted_key
)
select account_id, entry_no, 'charge', -charge_nano, balance_after_nano, call_id, created_at, day_no, day_began_at,
  counted_key::jsonb
from ${CHARGES.rows.as('e')}
${condition}`,
  CHARGES.rows,
  'e',
);

/** `claim_lost`: a repeat of the call runs on another node. */
export type EndResult = BalanceAfterEnd | 'claim_lost';

export type SettlementStore = ReturnType<typeof createSettlementStore>;

export function createSettlementStore(database: PartitionDatabase, logger: Pick<Logger, 'warn'> | null = null) {
  return {
    /** Releases reservations of dead nodes' calls. Returns the calls that became unresolved. Writes all or nothing; safe to repeat. */
    resolve(
      calls: readonly CallName[],
      time: BillingTime,
      locks: LockMode = 'all',
    ): Promise<readonly OpenReservation[]> {
      const reads = openCallReads(calls, locks);
      const records = reads.push({ statement: readRecorded, parameters: fieldsOf(calls, ...CALL_NAME) }) - 1;
      return database.readThenWrite({
        name: 'settlement.resolve',
        reads,
        decide(rows) {
          const { accounts, reservations, nowMs, periods } = openCallsOf(reads, rows, time);
          const before = copyAccounts(accounts);
          const recordedBefore = new Map(
            RECORDED.all(rows[records] as readonly StoredRow[]).map((call) => [callKey(call), call.status]),
          );
          const unresolved = decideUnresolved({ accounts, reservations, recorded: recordedBefore }, periods);
          warnOfFutureCounts(logger, futureCounts(accounts, before, nowMs));
          const recorded = unresolved.filter(({ isRecorded }) => isRecorded).map(({ reservation }) => reservation);
          const writes = [
            ...deleteWrites(unresolved.map(({ reservation }) => reservation)),
            ...unresolvedWrites(recorded, new Date(nowMs)),
            ...accountWrites(accounts, before),
          ];
          return { result: recorded, writes };
        },
      });
    },
  };
}

interface DecidedEnds {
  readonly verdicts: readonly ('ended' | 'claim_lost')[];
  /** Price lists that are stored together with the records. */
  readonly priceLists: readonly PriceList[];
  readonly writes: readonly Query[];
}

export class CallEnds {
  readonly reads: readonly AccountRead[];
  readonly #outcomes: readonly CallOutcome[];
  readonly #names: readonly string[];
  #hasMade = false;

  constructor(records: readonly SettlementRecord[]) {
    let [hasPlans, hasRates] = [false, false];
    const outcomes: CallOutcome[] = [];
    const kept: StoredClaim[] = [];
    let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const record of records) {
      const { startedAtMs } = record.outcome;
      outcomes.push(record.outcome);
      firstMs = Math.min(firstMs, startedAtMs);
      lastMs = Math.max(lastMs, startedAtMs);
      hasPlans ||= record.plan !== null;
      hasRates ||= record.rate !== null;
      this.#hasMade ||= record.made !== null;
      if (record.kept !== null) kept.push(record.kept);
    }
    this.#outcomes = outcomes;
    this.#names = namesOf(outcomes);
    const parameters = [...this.#names, toTimestamp(firstMs), toTimestamp(lastMs)];
    const reads: AccountRead[] = [{ statement: readCallsAtEnd, parameters }];
    if (kept.length > 0) reads.push({ statement: lockClaims, parameters: fieldsOf(kept, ...CALL_NAME) });
    this.reads = [...reads, ...countedReads(this.#names.slice(0, 2), hasPlans, hasRates)];
  }

  /** Decides on the ends, except of calls whose accounts are not locked. Of several ends of one call, the first one counts. */
  decide(
    rows: ReadRows,
    locked: readonly SettlementRecord[],
    accounts: ReadonlyMap<string, AccountState>,
    periods: RunningPeriods,
    storedPriceLists: StoredPriceLists,
  ): DecidedEnds {
    const known = toCallsAtEnd(rows[0] as readonly EndRow[], this.#outcomes);
    const claims = this.reads[1]?.statement === lockClaims ? CLAIMS.all(rows[1] as readonly StoredRow[]) : [];
    const state = { accounts, ...known, claims: new Set(claims.map(callKey)) };
    const { verdicts, fresh, freed, charges } = decideEnds(locked, state, periods);
    const prices = new Set(fresh.map(({ outcome }) => outcome.price.prices));
    const priceLists = storedPriceLists.missingOf(prices);
    const isOfAll = fresh.length === this.#outcomes.length;
    const writes = [
      ...(isOfAll && freed.length === fresh.length
        ? [{ statement: deleteReservations, parameters: this.#names.slice(0, 2) }]
        : deleteWrites(freed)),
      ...(priceLists.length === 0 ? [] : priceListWrites(priceLists)),
      ...recordWrites(fresh, [...prices]),
      ...(isOfAll && known.recorded.size === 0
        ? [{ statement: queueForUsage, parameters: this.#names }]
        : queueWrites(fresh.filter(({ outcome }) => !known.recorded.has(callKey(outcome))))),
      ...CHARGES.rows.write(insertCharges, charges),
      ...(this.#hasMade ? continuationWrites(fresh) : []),
      ...(claims.length === 0 ? [] : validWrites(fresh, periods.nowMs)),
    ];
    return { verdicts, priceLists, writes };
  }
}

/** A reservation and the status of a record. Without a reservation, all its columns are null. */
interface EndRow extends StoredRow {
  no: number;
  status: CallStatus | null;
  key_id: string | null;
  has_slot: boolean;
  is_dropped: boolean;
}

function toCallsAtEnd(
  rows: readonly EndRow[],
  calls: readonly (CallName & { readonly model: string })[],
): Pick<EndState, 'reservations' | 'recorded' | 'dropped'> {
  const reservations = new Map<string, ReservedLimits>();
  const recorded = new Map<string, CallStatus>();
  const dropped = new Set<string>();
  for (const row of rows) {
    const { accountId, callId, model } = calls[row.no - 1]!;
    const key = callKey({ accountId, callId });
    if (row.status !== null) recorded.set(key, row.status);
    if (row.is_dropped) dropped.add(key);
    if (row.key_id === null) continue;
    reservations.set(key, { accountId, callId, model, ...RESERVED_LIMITS.read(row), hasSlot: row.has_slot });
  }
  return { reservations, recorded, dropped };
}

function validWrites(fresh: readonly FreshEnd[], nowMs: number): Query[] {
  const kept: Record<'accountId' | 'callId' | 'expiresAt', string>[] = [];
  for (const { kept: claim } of fresh) {
    if (claim === null) continue;
    const { accountId, callId, keptForMs } = claim;
    kept.push({ accountId, callId, expiresAt: toTimestamp(nowMs + keptForMs) });
  }
  return writeRows(makeResponsesValid, kept, [...CALL_NAME, 'expiresAt']);
}
