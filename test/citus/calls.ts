import assert from 'node:assert/strict';
import { createBatchStore } from '../../src/accounting/batches/store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import type { Database } from '../../src/db/database.ts';
import { sqlState } from '../../src/db/errors.ts';
import {
  CONTEXT,
  NOW_MS,
  outcomeOf,
  periodsOf,
  recordOf,
  requestOf,
  TODAY,
  termsOf,
  verdictOf,
} from '../support/accounting-builders.ts';
import { createMakers } from '../support/created-accounts.ts';
import { placedInOne } from '../support/in-one-database.ts';
import { sql } from '../support/sql.ts';

/** Calls of a partition's accounts through the stores. A batch has one call of each account, and batches run one after another. */

const OPENED_NANO = 1_000_000_000_000n;
const RESERVED_NANO = 1_000n;
const CHARGE_NANO = 300n;

const SUM_LEDGER =
  'select count(*) as entries, sum(amount_nano)::text as sum from ledger_entries where account_id = $1';

/** Creates an account with money in a partition. */
export async function createAccount(directory: Database, partition: Database, id: string): Promise<void> {
  const { accountCreations } = createMakers(placedInOne({ directory, partition }));
  const account = { name: id, email: null, verified: true, dailyCapNano: null, at: new Date(NOW_MS) };
  assert.equal(await accountCreations.create({ ...account, id, openingNano: OPENED_NANO }), id);
}

export interface Calls {
  /** Admits and ends one more call of each account, in two transactions. Retries both after errors, as a gateway does. */
  next(): Promise<{ readonly ms: number; readonly errors: readonly string[] }>;
  /** @throws if a balance disagrees with the ended calls, or a reservation is left */
  checkMoney(): Promise<void>;
}

export function callsOf(partition: Database, accountIds: readonly string[]): Calls {
  const batches = createBatchStore(partition);
  let ended = 0;

  async function untilDone(work: () => Promise<unknown>, errors: string[]): Promise<void> {
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        if (errors.length > 1_000) throw error;
        errors.push(`${sqlState(error) ?? 'connection'} ${(error as Error).message}`);
      }
    }
  }

  return {
    async next() {
      const callIdOf = (accountId: string): string => `call_${accountId}_${ended}`;
      const admissions = accountIds.map((id) => requestOf(id, callIdOf(id), RESERVED_NANO));
      const ends = accountIds.map((id) => recordOf(outcomeOf(id, callIdOf(id), CHARGE_NANO)));
      const errors: string[] = [];
      const startedAt = performance.now();
      await untilDone(async () => {
        const results = await batches.run({ ends: [], admissions }, termsOf(CONTEXT));
        assert.deepEqual(new Set(results.admissions.map(verdictOf)), new Set(['admitted']));
      }, errors);
      await untilDone(() => batches.run({ ends, admissions: [] }, termsOf(CONTEXT)), errors);
      ended++;
      return { ms: performance.now() - startedAt, errors };
    },
    async checkMoney() {
      const balances = await createLedgerStore(partition).findBalances(accountIds, periodsOf(TODAY));
      for (const accountId of accountIds) {
        const balance = balances.get(accountId);
        assert.equal(balance?.balanceNano, OPENED_NANO - BigInt(ended) * CHARGE_NANO);
        assert.equal(balance?.reservedNano, 0n);
        const [ledger] = await sql<{ entries: bigint; sum: string }>(partition, SUM_LEDGER, [accountId]);
        assert.deepEqual(ledger, { entries: BigInt(ended + 1), sum: String(balance?.balanceNano) });
      }
    },
  };
}

/** Milliseconds that a share of the latencies does not exceed. */
export function quantile(waits: readonly number[], part: number): string {
  const sorted = waits.toSorted((a, b) => a - b);
  return `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1)} ms`;
}
