import {
  type AdmissionVerdict,
  type CallFacts,
  type CallOutcome,
  factsText,
  type Hold,
} from '../../src/billing/call-outcome.ts';
import type { AdmissionTerms, BillingStore } from '../../src/billing/store.ts';
import type { Queryable } from '../../src/db/database.ts';

/** Builders for tests that talk to the books directly. */

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

/** The instant at which all calls of these tests take place. */
export const NOW_MS = Date.UTC(2026, 10, 20, 4, 0, 0);
export const TODAY = '2026-11-20';
export const TERMS = { today: TODAY, defaultDailyCapNano: null, nodeId: 'node_test' };

/** What is known of these calls at admission; not all of it is what their ends say. */
export const KNOWN: CallFacts = {
  context: 'balance',
  operation: 'chat',
  provider: 'first',
  providerModel: 'upstream "first"',
  isStream: true,
  requestId: 'req_first',
  priceRule: 'off_peak',
  startedAtMs: NOW_MS,
};
export const FACTS = factsText(KNOWN);

export function holdOf(accountId: string, callId: string, amountNano: bigint): Hold {
  return { accountId, callId, amountNano, keyId: 'key_test', model: 'test', heldAtMs: NOW_MS, facts: FACTS };
}

/** What admission says of a batch, without what it leaves. */
export async function verdictsOn(
  store: Pick<BillingStore, 'admitHolds'>,
  holds: readonly Hold[],
  terms: AdmissionTerms,
): Promise<AdmissionVerdict[]> {
  const admissions = await store.admitHolds(holds, terms);
  return admissions.map(({ verdict }) => verdict);
}

/** The end of a call: with a charge it succeeded, without one it failed. */
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
    startedAtMs: NOW_MS,
    firstByteMs: 5,
    endedAtMs: NOW_MS + 10,
    usage: null,
    price: { rule: 'base', prices: PRICES },
    chargeNano,
  };
}

/** An account with a balance that came in by a top-up, as real ones do. */
export async function openAccount(
  database: Queryable,
  id: string,
  balanceNano: bigint,
  dailyCapNano: bigint | null = null,
): Promise<void> {
  await database.query(
    {
      name: 'test.insert-account',
      text: `insert into accounts (id, name, verified, status, created_at, updated_at)
        values ($1::text, 'test', true, 'active', now(), now())`,
    },
    [id],
  );
  await database.query(
    {
      name: 'test.insert-balance',
      text: `insert into balances (account_id, balance_nano, daily_cap_nano, last_entry_no)
        values ($1::text, $2::bigint, $3::bigint, case when $2::bigint = 0 then 0 else 1 end)`,
    },
    [id, balanceNano, dailyCapNano],
  );
  if (balanceNano === 0n) return;
  await database.query(
    {
      name: 'test.insert-top-up',
      text: `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
        values ($1::text, 1, 'top_up', $2::bigint, $2::bigint, now())`,
    },
    [id, balanceNano],
  );
}

export interface BalanceRow {
  readonly balanceNano: bigint;
  readonly heldNano: bigint;
  readonly spentNano: bigint;
}

export async function readBalance(database: Queryable, id: string): Promise<BalanceRow> {
  const [row] = await database.query<{ balance_nano: bigint; reserved_nano: bigint; spent_nano: bigint }>(
    {
      name: 'test.read-balance',
      text: 'select balance_nano, reserved_nano, spent_nano from balances where account_id = $1::text',
    },
    [id],
  );
  return { balanceNano: row!.balance_nano, heldNano: row!.reserved_nano, spentNano: row!.spent_nano };
}
