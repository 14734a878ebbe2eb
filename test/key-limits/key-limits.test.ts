import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccountStore } from '../../src/accounts/store.ts';
import { auditLedger } from '../../src/billing/audit.ts';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createKeyLimiter, type KeyLimiter } from '../../src/key-limits/key-limits.ts';
import { createKeyLimitStore, type KeyLimitStore } from '../../src/key-limits/store.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { NOW_MS, openAccount } from '../support/books.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';

const clock = createTestClock(new Date(NOW_MS).toISOString());
const TODAY = '2026-11-20';

const limiterOn = (database: Database, today: () => string = () => TODAY): KeyLimiter =>
  createKeyLimiter({
    store: createKeyLimitStore(database),
    clock,
    logger: silentLogger,
    nodeId: 'node_test',
    today,
    retryDelayMs: 1,
  });

/** A key that may have one call in flight. */
async function createKey(database: Database, name: string): Promise<{ accountId: string; keyId: string }> {
  const key = { accountId: `acct_${name}`, keyId: `key_${name}` };
  await openAccount(database, key.accountId, 0n);
  await createAccountStore(database).insertKey({
    accountId: key.accountId,
    id: key.keyId,
    name,
    keyHash: Buffer.from(name),
    prefix: 'sk-fg-…',
    expiresAt: null,
    at: new Date(NOW_MS),
  });
  await createKeyLimitStore(database).change(key.accountId, key.keyId, { concurrencyMax: 1 });
  return key;
}

/** Everything in flight: to a node that has never been heard of, all others are dead. */
const listHolds = (store: KeyLimitStore) => store.listDeadHolds('node_other', 0, 100);

async function assertNothingHeld(database: Database, store: KeyLimitStore): Promise<void> {
  assert.deepEqual(await listHolds(store), []);
  const results = await auditLedger(database);
  assert.deepEqual(
    results.flatMap(({ breaches }) => breaches),
    [],
  );
}

for (const engine of engines) {
  describe(`calls of limited keys on ${engine}`, { timeout: 60_000 }, () => {
    let stored: TestDatabase;
    let store: KeyLimitStore;
    before(async () => {
      stored = await createTestDatabase(engine);
      store = createKeyLimitStore(stored.database);
    });
    after(async () => {
      try {
        await assertNothingHeld(stored.database, store);
      } finally {
        await stored.remove();
      }
    });

    it('that arrive together are judged together, and each gets its own verdict', async () => {
      const limiter = limiterOn(stored.database);
      const keys = [await createKey(stored.database, 'together_1'), await createKey(stored.database, 'together_2')];
      const admit = (n: number) => limiter.admit({ ...keys[n % 2]!, callId: `call_together_${n}`, amountNano: 1n });
      assert.deepEqual(await Promise.all([0, 1, 2, 3].map(admit)), [
        'admitted',
        'admitted',
        'concurrency_limited',
        'concurrency_limited',
      ]);
      for (const n of [0, 1]) {
        await limiter.end({ ...keys[n]!, callId: `call_together_${n}`, counts: true, chargeNano: 1n });
      }
      assert.deepEqual(await Promise.all([2, 3].map(admit)), ['admitted', 'admitted']);
      for (const n of [2, 3]) {
        await limiter.end({ ...keys[n % 2]!, callId: `call_together_${n}`, counts: false, chargeNano: 0n });
      }
      await limiter.drain();
    });

    it('are counted by the day of the statement, not by that on which the limiter was made', async () => {
      let today = TODAY;
      const limiter = limiterOn(stored.database, () => today);
      const key = await createKey(stored.database, 'midnight');
      await store.change(key.accountId, key.keyId, { concurrencyMax: null, dailyCallsMax: 1 });
      const call = async (callId: string): Promise<string> => {
        const verdict = await limiter.admit({ ...key, callId, amountNano: null });
        await limiter.end({ ...key, callId, counts: true, chargeNano: 0n });
        return verdict;
      };
      assert.deepEqual([await call('call_midnight_1'), await call('call_midnight_2')], ['admitted', 'calls_limited']);
      today = '2026-11-21';
      assert.deepEqual([await call('call_midnight_3'), await call('call_midnight_4')], ['admitted', 'calls_limited']);
    });

    it('that were in flight when their node died are given back, and counted neither in calls nor in money', async () => {
      const key = await createKey(stored.database, 'left');
      await store.change(key.accountId, key.keyId, { dailyCallsMax: 1, dailySpendCapNano: 9n });
      assert.equal(
        await limiterOn(stored.database).admit({ ...key, callId: 'call_left_1', amountNano: 9n }),
        'admitted',
      );
      const next = limiterOn(stored.database);
      assert.equal(await next.admit({ ...key, callId: 'call_left_2', amountNano: 9n }), 'spend_limited');
      await store.releaseCalls(await listHolds(store), TODAY);
      assert.equal(await next.admit({ ...key, callId: 'call_left_2', amountNano: 9n }), 'admitted');
      await next.end({ ...key, callId: 'call_left_2', counts: true, chargeNano: 1n });
    });
  });
}

describe('postgresql: calls of limited keys over a network that breaks', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let store: KeyLimitStore;
  let proxy: TestProxy;
  let far: Database;
  before(async () => {
    stored = await createTestDatabase('postgresql');
    store = createKeyLimitStore(stored.database);
    proxy = await startProxy(stored.url);
    far = openPostgres({ url: proxy.url, logger: silentLogger });
    await stored.database.script(`
create function pass_gate() returns trigger language plpgsql as
  $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
create constraint trigger at_commit after insert or delete on reservations deferrable initially deferred
  for each row execute function pass_gate();`);
  });
  after(async () => {
    try {
      await assertNothingHeld(stored.database, store);
    } finally {
      await far.close();
      await proxy.close();
      await stored.remove();
    }
  });

  const sessions = (condition: string) => ({
    name: `test.sessions ${condition}`.slice(0, 60),
    text: `select count(*)::int as n from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and ${condition}`,
  });
  /** Resolves when that many sessions are in that state. */
  async function until(condition: string, count: number): Promise<void> {
    for (;;) {
      const [row] = await stored.database.query<{ n: number }>(sessions(condition));
      if (row!.n === count) return;
    }
  }

  /** Keeps whatever takes or gives back a hold from being committed, while the work goes on. */
  async function whileCommitsWait(work: () => Promise<void>): Promise<void> {
    await stored.database.transaction(async (transaction) => {
      await transaction.query({ name: 'test.keep-gate', text: 'select pg_advisory_xact_lock(7)' });
      await work();
    });
  }

  // What it took would stay taken for ever: nobody else knows of the call.
  it('give back what an admission takes that is committed only after its connection was lost', async () => {
    const key = await createKey(stored.database, 'cut');
    const limiter = limiterOn(far);
    await whileCommitsWait(async () => {
      const admission = limiter.admit({ ...key, callId: 'call_cut', amountNano: 1n });
      await until(`wait_event = 'advisory'`, 1);
      proxy.cut();
      await assert.rejects(admission);
      await Promise.race([until(`wait_event_type = 'Lock'`, 2), limiter.drain()]);
    });
    await limiter.drain();
    await until(`state = 'active'`, 0);
    assert.deepEqual(await listHolds(store), []);
    assert.equal(await limiterOn(far).admit({ ...key, callId: 'call_cut_2', amountNano: 1n }), 'admitted');
    await store.releaseCalls([{ ...key, callId: 'call_cut_2' }], TODAY);
  });

  it('end once where the end is committed only after its connection was lost, and comes again', async () => {
    const key = await createKey(stored.database, 'end');
    const limiter = limiterOn(far);
    assert.equal(await limiter.admit({ ...key, callId: 'call_end', amountNano: 5n }), 'admitted');
    const ended = Promise.withResolvers<void>();
    await whileCommitsWait(async () => {
      const end = () => limiter.end({ ...key, callId: 'call_end', counts: true, chargeNano: 3n });
      const lost = end();
      await until(`wait_event = 'advisory'`, 1);
      proxy.cut();
      await assert.rejects(lost);
      end().then(ended.resolve, ended.reject);
      await until(`wait_event_type = 'Lock'`, 2);
    });
    await ended.promise;
    const [row] = await stored.database.query({
      name: 'test.read-key',
      text: `select spent_nano, reserved_nano, calls, in_flight from key_limits where key_id = 'key_end'`,
    });
    assert.deepEqual(row, { spent_nano: 3n, reserved_nano: 0n, calls: 1n, in_flight: 0n });
  });
});
