import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBatchStore } from '../src/accounting/batches/store.ts';
import type { CallOutcome } from '../src/accounting/calls/call-outcome.ts';
import { createCallsStore } from '../src/accounting/calls/calls-store.ts';
import { createLocalTime } from '../src/accounting/pricing/local-time.ts';
import { runningPeriods } from '../src/accounting/pricing/running-periods.ts';
import type { AdmissionTerms } from '../src/accounting/reservations/account-state.ts';
import { factsText, type ReservationRequest } from '../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../src/accounting/settlement/settlement-record.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { planOf } from '../test/support/account-in-memory.ts';

/**
 * What the two transactions of a call cost by size of the batch, on the balance and on a Coding Plan with a limited key:
 * milliseconds a transaction, microseconds a call.
 *
 *   node bench/statements.ts [postgres://…]        an empty database; without an address the embedded one
 */
const ROUNDS = 60;
const ACCOUNTS = 20;

const dataDir = mkdtempSync(join(tmpdir(), 'faregate-statements-'));
const database = await openDatabase({ url: process.argv[2] ?? '', dataDir }, silentLogger);
await migrate(database);
await createCallsStore(database).preparePartitions(new Date());
await database.script(`
  insert into accounts (id, name, verified, status, created_at, updated_at)
    select 'bench_' || n, 'bench', true, 'active', now(), now() from generate_series(1, ${ACCOUNTS}) n on conflict do nothing;
  insert into balances (account_id, balance_nano)
    select 'bench_' || n, 1000000000000000 from generate_series(1, ${ACCOUNTS}) n on conflict do nothing;
  insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
    select 'bench_' || n, 'key_' || n, 'bench', sha256(n::text::bytea), 'sk-fg-', now()
    from generate_series(1, ${ACCOUNTS}) n on conflict do nothing;
  insert into key_limits (account_id, key_id, daily_calls_max, concurrency_max)
    select 'bench_' || n, 'key_' || n, 1000000, 100000 from generate_series(1, ${ACCOUNTS}) n on conflict do nothing;
  insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at)
    select 'bench_' || n, 'sub_' || n, 'bench', now() - interval '1 day', now() + interval '29 days', now()
    from generate_series(1, ${ACCOUNTS}) n on conflict do nothing`);
const batches = createBatchStore(database);
const ids = createIds(systemClock);
const plan = planOf({
  id: 'bench',
  fiveHourCalls: 100_000,
  weeklyCalls: 1_000_000,
  concurrency: 100_000,
  quotaTokens: 1_000_000_000,
  models: new Set(['bench']),
  inputBytesMax: 1_000,
  outputTokensMax: 1_000,
});
const plans = new Map([[plan.id, plan]]);
const localTime = createLocalTime('Asia/Shanghai');
const terms: AdmissionTerms = {
  nowMs: null,
  rateDefaults: null,
  plans,
  contextAt: (nowMs) => ({
    ...runningPeriods(localTime, nowMs),
    defaultDailyCapNano: null,
    rateDefaults: null,
    plans,
    nodeId: 'bench',
  }),
};
const prices = {
  inputNanoPerMillion: 1n,
  cachedInputNanoPerMillion: 1n,
  cacheWriteNanoPerMillion: 1n,
  cacheWrite1hNanoPerMillion: 1n,
  imageInputNanoPerMillion: 1n,
  outputNanoPerMillion: 1n,
  imageOutputNanoPerMillion: 1n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

console.log(`${database.engine}, ${ACCOUNTS} accounts`);
for (const kind of ['balance', 'coding, limited key'] as const) {
  console.log(`\n${kind}\nbatch   admit ms   end ms   µs a call`);
  // The first batches are slow on the embedded engine, whose code is compiled while it runs.
  for (const size of [1, 32, 128]) await measure(kind, size);
  for (const size of [1, 8, 32, 64, 128]) {
    const { admitMs, endMs } = await measure(kind, size);
    const perCall = ((admitMs + endMs) / size) * 1_000;
    console.log(
      `${String(size).padStart(5)}${admitMs.toFixed(2).padStart(11)}${endMs.toFixed(2).padStart(9)}${perCall.toFixed(0).padStart(12)}`,
    );
  }
}
await database.close();
rmSync(dataDir, { recursive: true, force: true });

type Kind = 'balance' | 'coding, limited key';

async function measure(kind: Kind, size: number): Promise<{ admitMs: number; endMs: number }> {
  let admitMs = 0;
  let endMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const requests = Array.from({ length: size }, (_, i) => request(kind, i));
    const startMs = performance.now();
    const { admissions } = await batches.run({ ends: [], admissions: requests }, terms);
    const admittedMs = performance.now();
    await batches.run({ ends: requests.map(record), admissions: [] }, terms);
    admitMs += admittedMs - startMs;
    endMs += performance.now() - admittedMs;
    if (!admissions.every(({ isAdmitted }) => isAdmitted)) throw new Error('a call was refused');
  }
  return { admitMs: admitMs / ROUNDS, endMs: endMs / ROUNDS };
}

function request(kind: Kind, i: number): ReservationRequest {
  const isOnPlan = kind !== 'balance';
  const account = (i % ACCOUNTS) + 1;
  return {
    accountId: `bench_${account}`,
    callId: ids.next('call'),
    keyId: `key_${account}`,
    model: 'bench',
    modelAliases: [],
    isKeyLimited: isOnPlan,
    isRateLimited: false,
    tokens: 1,
    amountNano: isOnPlan ? null : 1_000n,
    plan: isOnPlan ? { inputBytes: 100, outputTokensRequested: 10, tokens: 50, innerModels: [] } : null,
    facts: factsText({
      context: isOnPlan ? 'coding' : 'balance',
      operation: 'chat',
      provider: 'bench',
      providerModel: 'bench',
      isStream: false,
      requestId: 'req_bench',
      priceRule: 'base',
      startedAtMs: Date.now(),
    }),
  };
}

function record(call: ReservationRequest): SettlementRecord {
  const isOnPlan = call.plan !== null;
  return {
    outcome: outcome(call),
    plan: isOnPlan ? { counts: true, tokens: 20 } : null,
    key: isOnPlan ? { counts: true, chargeNano: 0n } : null,
    rate: null,
    kept: null,
    made: null,
  };
}

function outcome({ accountId, callId, keyId, model, plan: onPlan }: ReservationRequest): CallOutcome {
  return {
    accountId,
    callId,
    keyId,
    model,
    context: onPlan === null ? 'balance' : 'coding',
    failedRoutes: [],
    operation: 'chat',
    provider: 'bench',
    providerModel: 'bench',
    isStream: false,
    status: 'succeeded',
    httpStatus: 200,
    errorCode: null,
    requestId: 'req_bench',
    clientRequestId: null,
    startedAtMs: Date.now(),
    firstByteMs: 1,
    endedAtMs: Date.now(),
    usage: null,
    price: { rule: 'base', prices },
    priceFactorBasisPoints: 10_000,
    chargeNano: onPlan === null ? 5n : null,
    costNano: null,
  };
}
