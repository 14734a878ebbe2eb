import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBatchStore } from '../src/accounting/batches/store.ts';
import { createCallsStore } from '../src/accounting/calls/calls-store.ts';
import { createLocalTime } from '../src/accounting/pricing/local-time.ts';
import { runningPeriods } from '../src/accounting/pricing/running-periods.ts';
import type { AdmissionTerms } from '../src/accounting/reservations/account-state.ts';
import { factsText, type ReservationRequest } from '../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../src/accounting/settlement/settlement-record.ts';

import { openDatabases } from '../src/db/databases.ts';
import { migrate } from '../src/db/migrate.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { planOf } from '../test/support/account-in-memory.ts';
import { KNOWN, outcomeOf, recordOf, requestOf } from '../test/support/accounting-builders.ts';
import { removeDirectory } from '../test/support/local-database.ts';

/** The two transactions of a call without a gateway: the cost of an admission and an end in the database. */

export const KINDS = ['balance', 'coding, limited key'] as const;
export type Kind = (typeof KINDS)[number];

/** Number of accounts whose calls are in a batch, whatever the size of the database. */
export const ACCOUNTS = 20;
const ROUNDS = 60;

/** Milliseconds per transaction: the mean of all rounds. */
export interface BatchTimes {
  readonly admitMs: number;
  readonly endMs: number;
}

export interface CallBatches {
  /** Admits and ends batches of this size, one after another. */
  measure(kind: Kind, size: number, rounds?: number): Promise<BatchTimes>;
  close(): Promise<void>;
}

/**
 * Applies all migrations and creates accounts, keys and subscriptions for these calls.
 *
 * @param url empty for the local server
 * @param dataDir its directory, removed at the end; by default a new one
 * @param path search path on a server, such as a partition's schema
 */
export async function openCallBatches(
  url: string,
  dataDir = mkdtempSync(join(tmpdir(), 'faregate-statements-')),
  path: string | null = null,
): Promise<CallBatches> {
  const database =
    path === null
      ? (await openDatabases({ url, dataDir }, silentLogger)).directory
      : openPostgres({ url, logger: silentLogger, schema: path });
  if (path === null) await migrate(database);
  const calls = createCallsStore(database);
  await calls.prepareMonths(new Date());
  // As a gateway does every hour. Another process may have filled the database without it.
  await calls.summariseRequestIds(new Date());
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
  return {
    async measure(kind, size, rounds = ROUNDS) {
      let admitMs = 0;
      let endMs = 0;
      for (let round = 0; round < rounds; round++) {
        const requests = Array.from({ length: size }, (_, i) => request(kind, i));
        const startMs = performance.now();
        const { admissions } = await batches.run({ ends: [], admissions: requests }, terms);
        const admittedMs = performance.now();
        await batches.run({ ends: requests.map(record), admissions: [] }, terms);
        admitMs += admittedMs - startMs;
        endMs += performance.now() - admittedMs;
        if (!admissions.every(({ isAdmitted }) => isAdmitted)) throw new Error('a call was refused');
      }
      return { admitMs: admitMs / rounds, endMs: endMs / rounds };
    },
    async close() {
      await database.close();
      removeDirectory(dataDir);
    },
  };
}

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

function request(kind: Kind, i: number): ReservationRequest {
  const isOnPlan = kind !== 'balance';
  const account = (i % ACCOUNTS) + 1;
  return requestOf(`bench_${account}`, ids.next('call'), isOnPlan ? null : 1_000n, {
    keyId: `key_${account}`,
    model: 'bench',
    isKeyLimited: isOnPlan,
    plan: isOnPlan ? { inputBytes: 100, outputTokensRequested: 10, tokens: 50, innerModels: [] } : null,
    facts: factsText({ ...KNOWN, context: isOnPlan ? 'coding' : 'balance', isStream: false, startedAtMs: Date.now() }),
  });
}

function record({ accountId, callId, keyId, model, plan: onPlan }: ReservationRequest): SettlementRecord {
  const isOnPlan = onPlan !== null;
  const context = isOnPlan ? 'coding' : 'balance';
  const times = { startedAtMs: Date.now(), firstByteMs: 1, endedAtMs: Date.now() };
  const outcome = { ...outcomeOf(accountId, callId, 5n), keyId, model, context, usage: null, ...times } as const;
  return recordOf(isOnPlan ? { ...outcome, chargeNano: null } : outcome, {
    plan: isOnPlan ? { counts: true, tokens: 20 } : null,
    key: isOnPlan ? { counts: true, chargeNano: 0n } : null,
  });
}
