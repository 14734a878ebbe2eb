import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallOutcome, factsText, type Hold } from '../src/billing/call-outcome.ts';
import { createCallsStore } from '../src/billing/calls-store.ts';
import { createBillingStore } from '../src/billing/store.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { silentLogger } from '../src/lib/logger.ts';

/**
 * What the two coalesced statements cost by size of the batch: milliseconds a statement, microseconds a call.
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
    select 'bench_' || n, 1000000000000000 from generate_series(1, ${ACCOUNTS}) n on conflict do nothing`);
const store = createBillingStore(database);
const ids = createIds(systemClock);
const terms = { today: '2026-11-20', defaultDailyCapNano: null, nodeId: 'bench' };
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

console.log(`${database.engine}, ${ACCOUNTS} accounts\nbatch   admit ms   end ms   µs a call`);
await measure(1);
for (const size of [1, 8, 32, 64, 128]) {
  const { admitMs, endMs } = await measure(size);
  const perCall = ((admitMs + endMs) / size) * 1_000;
  console.log(
    `${String(size).padStart(5)}${admitMs.toFixed(2).padStart(11)}${endMs.toFixed(2).padStart(9)}${perCall.toFixed(0).padStart(12)}`,
  );
}
await database.close();
rmSync(dataDir, { recursive: true, force: true });

async function measure(size: number): Promise<{ admitMs: number; endMs: number }> {
  let admitMs = 0;
  let endMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const holds = Array.from({ length: size }, (_, i) => hold(i));
    const startMs = performance.now();
    await store.admitHolds(holds, terms);
    const admittedMs = performance.now();
    await store.endCalls(holds.map(outcome), terms.today);
    admitMs += admittedMs - startMs;
    endMs += performance.now() - admittedMs;
  }
  return { admitMs: admitMs / ROUNDS, endMs: endMs / ROUNDS };
}

function hold(i: number): Hold {
  return {
    accountId: `bench_${(i % ACCOUNTS) + 1}`,
    callId: ids.next('call'),
    amountNano: 1_000n,
    keyId: 'key_bench',
    model: 'bench',
    heldAtMs: Date.now(),
    facts: factsText({
      context: 'balance',
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

function outcome({ accountId, callId, keyId, model }: Hold): CallOutcome {
  return {
    accountId,
    callId,
    keyId,
    model,
    context: 'balance',
    failedRoutes: [],
    operation: 'chat',
    provider: 'bench',
    providerModel: 'bench',
    isStream: false,
    status: 'succeeded',
    httpStatus: 200,
    errorCode: null,
    requestId: 'req_bench',
    startedAtMs: Date.now(),
    firstByteMs: 1,
    endedAtMs: Date.now(),
    usage: null,
    price: { rule: 'base', prices },
    chargeNano: 5n,
  };
}
