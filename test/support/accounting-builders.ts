import { createCallBatches } from '../../src/accounting/batches/call-batches.ts';
import { createBatchStore } from '../../src/accounting/batches/store.ts';
import type { CallOutcome } from '../../src/accounting/calls/call-outcome.ts';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import { type BillingTime, type RunningPeriods, runningPeriods } from '../../src/accounting/pricing/running-periods.ts';
import type { AdmissionContext, AdmissionTerms } from '../../src/accounting/reservations/account-state.ts';
import { admissionTerms } from '../../src/accounting/reservations/admission-terms.ts';
import {
  type Admission,
  type CallFacts,
  factsText,
  type ReservationRequest,
} from '../../src/accounting/reservations/reservation.ts';
import {
  createReservations,
  type Reservations,
  type ReservationsOptions,
} from '../../src/accounting/reservations/reservations.ts';
import {
  createDatabaseSettlement,
  type DatabaseSettlement,
} from '../../src/accounting/settlement/database-settlement.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { EndResult } from '../../src/accounting/settlement/store.ts';
import type { Database, Queryable } from '../../src/db/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { balanceCall } from './account-in-memory.ts';
import {
  createTestReservationStore,
  createTestSettlementStore,
  type TestReservationStore,
  type TestSettlementStore,
} from './call-stores.ts';
import { patientQuestions } from './questions.ts';
import { sql } from './sql.ts';

/** Builders for tests that use the database of accounts and calls directly. */

export const PRICES = {
  inputNanoPerMillion: 1_000_000n,
  cachedInputNanoPerMillion: 1_000_000n,
  cacheWriteNanoPerMillion: 1_000_000n,
  cacheWrite1hNanoPerMillion: 1_000_000n,
  imageInputNanoPerMillion: 1_000_000n,
  outputNanoPerMillion: 1_000_000n,
  imageOutputNanoPerMillion: 1_000_000n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

/** The time of every call in these tests. */
export const NOW_MS = Date.UTC(2026, 10, 20, 4, 0, 0);
export const TODAY = '2026-11-20';
const SHANGHAI = createLocalTime('Asia/Shanghai');
export const periodsAt = (epochMs: number): RunningPeriods => runningPeriods(SHANGHAI, epochMs);
/** The billing periods that are current at noon of a day in Shanghai. */
export const periodsOf = (today: string): RunningPeriods => periodsAt(Date.parse(`${today}T04:00Z`));
/** That time of day, on another day if one is given. */
export const timeOf = (today: string): BillingTime => timeAt(periodsOf(today).nowMs);
export const timeAt = (nowMs: number): BillingTime => ({ nowMs, periodsAt });
export const TIME = timeOf(TODAY);
/** An admission at that time, in Shanghai's time zone, without plans and caps. */
export const CONTEXT: AdmissionContext = {
  ...periodsOf(TODAY),
  defaultDailyCapNano: null,
  rateDefaults: null,
  plans: new Map(),
  nodeId: 'node_test',
};

export const termsOf = (context: AdmissionContext): AdmissionTerms => ({
  nowMs: context.nowMs,
  plans: context.plans,
  rateDefaults: context.rateDefaults,
  contextAt: () => context,
});

/** Facts about a call that are known at admission. The call may end with different ones. */
export const KNOWN: CallFacts = {
  context: 'balance',
  operation: 'chat',
  provider: 'first',
  providerModel: 'upstream "first"',
  isStream: true,
  requestId: 'req_first',
  priceRule: 'off_peak',
  startedAtMs: NOW_MS,
  groupId: 'resellers',
  caller: { endUser: 'Ann', tags: ['batch'] },
};
export const FACTS = factsText(KNOWN);

/** A call on the balance that may cost at most an amount. `parts` overrides members. */
export function requestOf(
  accountId: string,
  callId: string,
  amountNano: bigint | null,
  parts: Partial<ReservationRequest> = {},
): ReservationRequest {
  return balanceCall(callId, { accountId, amountNano, facts: FACTS, ...parts });
}

/** `admitted`, or the kind of the refusal. */
export function verdictOf(admission: Admission): string {
  return admission.isAdmitted ? 'admitted' : admission.refusal.kind;
}

/** The outcomes of a batch, without the balances that it leaves. */
export async function verdictsOn(
  store: Pick<TestReservationStore, 'admit'>,
  requests: readonly ReservationRequest[],
  context: AdmissionContext = CONTEXT,
): Promise<string[]> {
  return (await store.admit(requests, termsOf(context))).map(verdictOf);
}

/** The end of a call: succeeded if there is a charge, otherwise failed. */
export function outcomeOf(accountId: string, callId: string, chargeNano: bigint | null): CallOutcome {
  return {
    accountId,
    callId,
    keyId: 'key_test',
    context: 'balance',
    operation: 'chat',
    model: 'test',
    provider: 'provider',
    providerModel: 'upstream',
    failedRoutes: [],
    isStream: false,
    status: chargeNano === null ? 'failed' : 'succeeded',
    httpStatus: chargeNano === null ? 502 : 200,
    errorCode: chargeNano === null ? 'upstream_error' : null,
    requestId: 'req_test',
    clientRequestId: null,
    startedAtMs: NOW_MS,
    firstByteMs: 5,
    endedAtMs: NOW_MS + 10,
    usage: null,
    price: { rule: 'base', prices: PRICES },
    priceFactorBasisPoints: 10_000,
    chargeNano,
    costNano: null,
  };
}

/** The end of a call on the balance whose key has no limits. `parts` overrides members. */
export function recordOf(
  outcome: CallOutcome,
  parts: Partial<Omit<SettlementRecord, 'outcome'>> = {},
): SettlementRecord {
  return { outcome, plan: null, key: null, rate: null, kept: null, made: null, ...parts };
}

export function endCalls(
  store: Pick<TestSettlementStore, 'end'>,
  outcomes: readonly CallOutcome[],
  today: string = TODAY,
): Promise<readonly EndResult[]> {
  return store.end(
    outcomes.map((outcome) => recordOf(outcome)),
    timeOf(today),
  );
}

/** The stores of one process, with the batches that admit and end calls. */
export interface TestNode {
  readonly stores: { readonly reservations: TestReservationStore; readonly settlement: TestSettlementStore };
  readonly reservations: Reservations;
  readonly settlement: DatabaseSettlement;
  end(outcome: CallOutcome): ReturnType<DatabaseSettlement['end']>;
  drain(): Promise<void>;
}

/** `clock` replaces the database's clock. */
export function createTestNode(
  database: Database,
  { clock, ...options }: Partial<Omit<ReservationsOptions, 'admissions'>> & { readonly clock?: Clock } = {},
): TestNode {
  const stores = {
    reservations: createTestReservationStore(database),
    settlement: createTestSettlementStore(database),
  };
  const shared = {
    questions: patientQuestions(),
    testClock: clock,
    logger: silentLogger,
    nodeId: 'node_test',
    terms: () => ({
      localTime: createLocalTime('Asia/Shanghai'),
      defaultDailyCapNano: null,
      rateDefaults: null,
      plans: [],
    }),
    retryDelayMs: 1,
    ...options,
  };
  const batches = createCallBatches({
    store: createBatchStore(database),
    questions: shared.questions,
    terms: () => admissionTerms(shared),
    onEnded: (call) => reservations.ended(call),
    waitingItemsMax: shared.waitingItemsMax,
    observer: { admissions: (count, tookMs) => shared.observer?.batch(count, tookMs), ends: () => undefined },
  });
  const reservations = createReservations({
    store: stores.reservations,
    admissions: batches.admissions,
    ...shared,
  });
  const settlement = createDatabaseSettlement({
    batches,
    storedResponses: { keep: () => Promise.reject(new Error('nothing is stored for repeats of these calls')) },
  });
  return {
    stores,
    reservations,
    settlement,
    end: (outcome) => settlement.end(recordOf(outcome)),
    async drain() {
      await settlement.drain();
      await reservations.drain();
    },
  };
}

/** An account whose balance comes from a top-up, like a real one. */
export async function openAccount(
  database: Queryable,
  id: string,
  balanceNano: bigint,
  dailyCapNano: bigint | null = null,
): Promise<void> {
  await sql(
    database,
    `insert into accounts (id, name, verified, status, created_at, updated_at)
        values ($1::text, 'test', true, 'active', now(), now())`,
    [id],
  );
  await sql(
    database,
    `insert into balances (account_id, balance_nano, daily_cap_nano, last_entry_no)
        values ($1::text, $2::bigint, $3::bigint, case when $2::bigint = 0 then 0 else 1 end)`,
    [id, balanceNano, dailyCapNano],
  );
  if (balanceNano === 0n) return;
  await sql(
    database,
    `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
        values ($1::text, 1, 'top_up', $2::bigint, $2::bigint, now())`,
    [id, balanceNano],
  );
}

export interface BalanceRow {
  readonly balanceNano: bigint;
  readonly reservedNano: bigint;
  readonly spentNano: bigint;
}

export async function readBalance(database: Queryable, id: string): Promise<BalanceRow> {
  const [row] = await sql<{ balance_nano: bigint; reserved_nano: bigint; spent_nano: bigint }>(
    database,
    'select balance_nano, reserved_nano, spent_nano from balances where account_id = $1::text',
    [id],
  );
  return { balanceNano: row!.balance_nano, reservedNano: row!.reserved_nano, spentNano: row!.spent_nano };
}
