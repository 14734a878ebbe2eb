import assert from 'node:assert/strict';
import { createBatchStore } from '../../src/accounting/batches/store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { placedInOne } from '../../src/accounting/partitions/placed-lanes.ts';
import { createInSteps } from '../../src/app/in-steps.ts';
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

/** Calls of one account of a partition, one after the other, by the stores themselves. */

const OPENED_NANO = 1_000_000_000_000n;
const RESERVED_NANO = 1_000n;
const CHARGE_NANO = 300n;

/** Creates an account in a partition, with money. */
export async function createAccount(directory: Database, partition: Database, id: string): Promise<void> {
  const { accountCreations } = createInSteps(placedInOne({ directory, partition }), () => []);
  const account = { name: id, email: null, verified: true, dailyCapNano: null, at: new Date(NOW_MS) };
  assert.equal(await accountCreations.create({ ...account, id, openingNano: OPENED_NANO }), id);
}

export interface AccountCalls {
  /** Admits and ends one more call: two transactions. Both are tried again, as a gateway does, after an error. */
  next(): Promise<{ readonly ms: number; readonly errors: readonly string[] }>;
  /** Ended so far. */
  readonly ended: number;
  /** @throws if the balance is not what the ended calls leave, or a reservation is left. */
  checkMoney(): Promise<void>;
}

export function callsOf(partition: Database, accountId: string): AccountCalls {
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
    get ended() {
      return ended;
    },
    async next() {
      const callId = `call_${accountId}_${ended}`;
      const errors: string[] = [];
      const startedAt = performance.now();
      await untilDone(async () => {
        const { admissions } = await batches.run(
          { ends: [], admissions: [requestOf(accountId, callId, RESERVED_NANO)] },
          termsOf(CONTEXT),
        );
        assert.deepEqual(admissions.map(verdictOf), ['admitted']);
      }, errors);
      const ends = [recordOf(outcomeOf(accountId, callId, CHARGE_NANO))];
      await untilDone(() => batches.run({ ends, admissions: [] }, termsOf(CONTEXT)), errors);
      ended++;
      return { ms: performance.now() - startedAt, errors };
    },
    async checkMoney() {
      const balance = (await createLedgerStore(partition).findBalances([accountId], periodsOf(TODAY))).get(accountId);
      assert.equal(balance?.balanceNano, OPENED_NANO - BigInt(ended) * CHARGE_NANO);
      assert.equal(balance?.reservedNano, 0n);
      const [ledger] = await partition.query<{ entries: bigint; sum: string }>(
        {
          name: 'test.ledger-sum',
          text: 'select count(*) as entries, sum(amount_nano)::text as sum from ledger_entries where account_id = $1',
        },
        [accountId],
      );
      assert.deepEqual(ledger, { entries: BigInt(ended + 1), sum: String(balance?.balanceNano) });
    },
  };
}

/** Milliseconds that a part of some waits stays below. */
export function quantile(waits: readonly number[], part: number): string {
  const sorted = waits.toSorted((a, b) => a - b);
  return `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1)} ms`;
}
