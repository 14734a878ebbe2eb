import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKeyLimitStore } from '../../src/accounting/accounts/key-limit-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import {
  createTestNode,
  NOW_MS,
  openAccount,
  outcomeOf,
  recordOf,
  requestOf,
  type TestNode,
  verdictOf,
} from '../support/accounting-builders.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { handlesOf } from '../support/spread-database.ts';

const clock = createTestClock(new Date(NOW_MS).toISOString());

interface Key {
  readonly accountId: string;
  readonly keyId: string;
}

/** A key with a limit of one call in flight, of an account with some money. */
async function createKey(database: Database, name: string): Promise<Key> {
  const key = { accountId: `acct_${name}`, keyId: `key_${name}` };
  await openAccount(database, key.accountId, 1_000n);
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

/** Requests the admission of a call of a key that may cost an amount. */
async function admit({ reservations }: TestNode, { accountId, keyId }: Key, callId: string, amountNano: bigint) {
  return verdictOf(await reservations.admit(requestOf(accountId, callId, amountNano, { keyId, isKeyLimited: true })));
}

/** Ends a call: with a charge it counts, without one it does not. */
async function end(node: TestNode, { accountId, keyId }: Key, callId: string, chargeNano: bigint | null) {
  const outcome = { ...outcomeOf(accountId, callId, chargeNano), keyId };
  const key = { counts: chargeNano !== null, chargeNano: chargeNano ?? 0n };
  await node.settlement.end(recordOf(outcome, { key }));
}

/** Everything in flight: to a node that has no heartbeat, all others are dead. */
const listCalls = ({ stores }: TestNode) => stores.reservations.listOfDeadNodes('node_other', 0, 100);

async function assertNothingReserved(database: Database): Promise<void> {
  assert.deepEqual(await listCalls(createTestNode(database)), []);
  const results = await auditLedger(handlesOf(database));
  assert.deepEqual(
    results.flatMap(({ breaches }) => breaches),
    [],
  );
}

async function readKey(database: Database, keyId: string): Promise<unknown> {
  const statement = {
    name: 'test.read-key',
    text: 'select spent_nano, reserved_nano, calls, in_flight from key_limits where key_id = $1::text',
  };
  return (await database.query(statement, [keyId]))[0];
}

describe('calls of limited keys over a network that breaks', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  let far: Database;
  before(async () => {
    stored = await createTestDatabase(partitionsOfFile);
    proxy = await startProxy(stored.url);
    far = openPostgres({ url: proxy.url, logger: silentLogger });
    await stored.database.script(`
create function pass_gate() returns trigger language plpgsql set lock_timeout = 0 as
  $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
create constraint trigger at_commit after insert or delete on reservations deferrable initially deferred
  for each row execute function pass_gate();`);
  });
  after(async () => {
    try {
      await assertNothingReserved(stored.database);
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

  /** Prevents transactions that make or release a reservation from being committed while the work goes on. */
  async function whileCommitsWait(work: () => Promise<void>): Promise<void> {
    await stored.database.transaction(async (transaction) => {
      await transaction.query({ name: 'test.keep-gate', text: 'select pg_advisory_xact_lock(7)' });
      await work();
    });
  }

  // Otherwise its reservation would stay for ever: no other node knows of the call.
  it('release an admission that is committed only after its connection was lost', async () => {
    const key = await createKey(stored.database, 'cut');
    const node = createTestNode(far, { clock });
    await whileCommitsWait(async () => {
      const admission = admit(node, key, 'call_cut', 1n);
      await until(`wait_event = 'advisory'`, 1);
      proxy.cut();
      await assert.rejects(admission);
      await Promise.race([until(`wait_event_type = 'Lock'`, 2), node.drain()]);
    });
    await node.drain();
    await until(`state = 'active'`, 0);
    assert.deepEqual(await listCalls(node), []);
    assert.equal(await admit(node, key, 'call_cut_2', 1n), 'admitted');
    await end(node, key, 'call_cut_2', null);
  });

  it('end once if the end is committed only after its connection was lost, and is repeated', async () => {
    const key = await createKey(stored.database, 'end');
    const node = createTestNode(far, { clock });
    assert.equal(await admit(node, key, 'call_end', 5n), 'admitted');
    const ended = Promise.withResolvers<void>();
    await whileCommitsWait(async () => {
      const lost = end(node, key, 'call_end', 3n);
      await until(`wait_event = 'advisory'`, 1);
      proxy.cut();
      await assert.rejects(lost);
      end(node, key, 'call_end', 3n).then(ended.resolve, ended.reject);
      await until(`wait_event_type = 'Lock'`, 2);
    });
    await ended.promise;
    const used = { spent_nano: 3n, reserved_nano: 0n, calls: 1n, in_flight: 0n };
    assert.deepEqual(await readKey(stored.database, 'key_end'), used);
  });
});
