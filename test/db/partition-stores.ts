import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BatchStore, createBatchStore } from '../../src/accounting/batches/store.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { createStoredResponseStore } from '../../src/accounting/repeats/stored-response-store.ts';
import type { Database } from '../../src/db/database.ts';
import { HOMES } from '../../src/db/homes.ts';
import {
  droppingOf,
  endOf,
  kept,
  MONTHS,
  prepareMonths,
  NOW_MS as RETENTION_MS,
  sumUsage,
  usage,
} from '../retention/months.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  createTestNode,
  NOW_MS,
  outcomeOf,
  periodsOf,
  readBalance,
  recordOf,
  requestOf,
  TODAY,
  termsOf,
  verdictOf,
} from '../support/accounting-builders.ts';
import { createMakers } from '../support/created-accounts.ts';
import { placedInOne } from '../support/in-one-database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { sql } from '../support/sql.ts';

const HOUR_MS = 3_600_000;
const OPENED_NANO = 1_000_000n;
const PLAN = planOf({ fiveHourCalls: 2 });
const OF_PARTITION = Object.entries(HOMES).flatMap(([table, home]) => (home === 'partition' ? [table] : []));

/** All rows of a partition, including its months of calls. */
async function contentOf(database: Database): Promise<unknown[]> {
  const content: unknown[] = [];
  for (const table of OF_PARTITION) {
    const rows = await sql(database, `select to_jsonb(t)::text as row from ${table} t order by 1`);
    content.push([table, rows]);
  }
  const tables = await sql(
    database,
    `select relname::text as name from pg_class where relnamespace = current_schema()::regnamespace order by 1`,
  );
  return [...content, tables];
}

/**
 * Tests the stores of accounts in a further partition with its own schema, next to the first one in the directory's schema.
 *
 * @param create creates a database with two partitions
 */
export function describePartitionStores(create: () => Promise<PartitionedDatabase>): void {
  describe('the stores of a further partition', { timeout: 120_000 }, () => {
    let stored: PartitionedDatabase;
    let directory: Database;
    let partition: Database;
    let batches: BatchStore;
    let untouched: unknown[];

    before(async () => {
      stored = await create();
      directory = stored.databases.directory;
      partition = stored.databases.partitions[1]!;
      batches = createBatchStore(partition);
      untouched = await contentOf(directory);
      const { accountCreations } = createMakers(placedInOne({ directory, partition }));
      for (const id of ['acct_0', 'acct_1', 'acct_2']) {
        const account = { name: id, email: null, verified: true, dailyCapNano: null, at: new Date(NOW_MS) };
        assert.equal(await accountCreations.create({ ...account, id, openingNano: OPENED_NANO }), id);
      }
    });
    after(async () => {
      await stored?.remove();
    });
    const assertUntouched = async (): Promise<void> => assert.deepEqual(await contentOf(directory), untouched);

    it('have accounts registered in the directory', async () => {
      const found = await sql(directory, 'select id from accounts order by id');
      assert.deepEqual(found, [{ id: 'acct_0' }, { id: 'acct_1' }, { id: 'acct_2' }]);
      assert.equal((await readBalance(partition, 'acct_1')).balanceNano, OPENED_NANO);
      await assertUntouched();
    });

    it('admit and settle calls with records and charges', async () => {
      const asked = [requestOf('acct_0', 'call_one', OPENED_NANO), requestOf('acct_0', 'call_two', 1n)];
      const { admissions } = await batches.run({ ends: [], admissions: asked }, termsOf(CONTEXT));
      assert.deepEqual(admissions.map(verdictOf), ['admitted', 'insufficientBalance']);
      assert.equal((await readBalance(partition, 'acct_0')).reservedNano, OPENED_NANO);
      const ended = [recordOf(outcomeOf('acct_0', 'call_one', 300n))];
      await batches.run({ ends: ended, admissions: [] }, termsOf(CONTEXT));
      assert.deepEqual(await readBalance(partition, 'acct_0'), {
        balanceNano: OPENED_NANO - 300n,
        reservedNano: 0n,
        spentNano: 300n,
      });
      assert.equal((await createCallsStore(partition).find('call_one'))?.chargeNano, 300n);
      assert.equal(await createCallsStore(directory).find('call_one'), null);
      await assertUntouched();
    });

    it('post entries, once each', async () => {
      const ledger = createLedgerStore(partition);
      const entry = {
        accountId: 'acct_1',
        kind: 'top_up',
        amountNano: 7n,
        memo: null,
        idempotencyKey: 'once',
      } as const;
      const at = new Date(NOW_MS);
      assert.equal((await ledger.post({ ...entry, at })).outcome, 'posted');
      assert.equal((await ledger.post({ ...entry, at })).outcome, 'repeated');
      assert.equal((await createLedgerStore(directory).post({ ...entry, at })).outcome, 'unknown_account');
      const balances = await ledger.findBalances(['acct_1'], periodsOf(TODAY));
      assert.equal(balances.get('acct_1')?.balanceNano, OPENED_NANO + 7n);
      const { items: entries } = await ledger.listEntries('acct_1', null, 10);
      assert.deepEqual(
        entries.map(({ amountNano }) => amountNano),
        [7n, OPENED_NANO],
      );
      const changed = 'update ledger_entries set amount_nano = 8 where memo is null';
      await assert.rejects(sql(partition, changed), /never changed/);
      await assertUntouched();
    });

    it('grant subscriptions, whose calls count', async () => {
      const subscriptions = createSubscriptionStore(partition);
      const granted = await subscriptions.grant({
        accountId: 'acct_2',
        id: 'sub_1',
        planId: PLAN.id,
        startsAt: new Date(NOW_MS),
        endsAt: new Date(NOW_MS + 720 * HOUR_MS),
        at: new Date(NOW_MS),
      });
      assert.equal(granted?.accountId, 'acct_2');
      const plan = { inputBytes: 1, outputTokensRequested: 1, tokens: 1, innerModels: [] };
      const context = { ...CONTEXT, plans: new Map([[PLAN.id, PLAN]]) };
      const asked = ['one', 'two', 'three'].map((id) => requestOf('acct_2', `call_plan_${id}`, null, { plan }));
      const { admissions } = await batches.run({ ends: [], admissions: asked }, termsOf(context));
      assert.deepEqual(admissions.map(verdictOf), ['admitted', 'admitted', 'packageFiveHourQuotaExhausted']);
      assert.equal(await createSubscriptionStore(directory).find('sub_1'), null);
      await assertUntouched();
    });

    it('store responses of idempotent calls', async () => {
      const responses = createStoredResponseStore(partition);
      const call = { accountId: 'acct_0', keyId: 'key_1', idempotencyKey: 'again', fingerprint: 'same' };
      const terms = { nowMs: NOW_MS, claimedForMs: 60_000, keptForMs: 24 * HOUR_MS };
      const request = { ...call, callId: 'claim_1' };
      assert.deepEqual(await responses.claim([request], terms), ['claimed']);
      const body = Buffer.from([0, 1, 255]);
      const head = { status: 200, headers: {}, callHeaders: {} };
      const times = { startedAtMs: NOW_MS, keptForMs: 24 * HOUR_MS };
      const keep = { ...request, head, body, billedCallId: 'call_kept', ...times };
      assert.equal(await responses.keep(keep, terms), true);
      await batches.run(
        { ends: [recordOf(outcomeOf('acct_0', 'call_kept', 1n), { kept: keep })], admissions: [] },
        termsOf(CONTEXT),
      );
      assert.deepEqual((await responses.find(call))?.body, body);
      assert.equal(await createStoredResponseStore(directory).find(call), null);
      await assertUntouched();
    });

    it('sum usage, and drop months of call records', async () => {
      await prepareMonths(partition);
      const node = createTestNode(partition, { clock: { nowMs: () => RETENTION_MS } });
      for (const month of MONTHS) await Promise.all([0, 1, 2, 4, 5, 6].map((n) => node.end(endOf(month, n))));
      await node.drain();
      await sumUsage(partition);
      const before = await usage(partition);
      assert.ok(before.length > 10);
      const dropping = droppingOf(partition);
      await dropping.run();
      assert.deepEqual(dropping.said(), ['2026-01 dropped', '2026-02 dropped']);
      const left = await kept(partition);
      assert.ok(!left.tables.includes('calls_2026_01') && left.tables.includes('calls_2026_03'));
      assert.equal(left.calls['2026-03'], 6);
      assert.deepEqual(await usage(partition), before);
      await assertUntouched();
    });
  });
}
