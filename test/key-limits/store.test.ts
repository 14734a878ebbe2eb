import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKeyLimitStore, type KeyLimitStore, NO_LIMITS } from '../../src/accounting/accounts/key-limit-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { CallName, ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import {
  CONTEXT,
  createTestNode,
  NOW_MS,
  openAccount,
  outcomeOf,
  recordOf,
  requestOf,
  type TestNode,
  TIME,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { waitingForLocks } from '../support/locks.ts';
import { readStoredUses } from './stored-uses.ts';

interface Stores {
  readonly limits: KeyLimitStore;
  readonly reservations: TestNode['stores']['reservations'];
  readonly settlement: TestNode['stores']['settlement'];
}

const storesOn = (database: Database): Stores => ({
  limits: createKeyLimitStore(database),
  ...createTestNode(database).stores,
});

interface Key {
  readonly accountId: string;
  readonly keyId: string;
}

const limitedRequest = ({ accountId, keyId }: Key, callId: string): ReservationRequest =>
  requestOf(accountId, callId, 1n, { keyId, isKeyLimited: true });

function limitedRecord({ accountId, keyId, callId }: CallName & Key): SettlementRecord {
  const key = { counts: true, chargeNano: 2n };
  return recordOf({ ...outcomeOf(accountId, callId, key.chargeNano), keyId }, { key });
}

describe(`the limits of keys`, { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let second: Database;
  let database: Database;
  let stores: readonly Stores[];
  let runs = 0;
  let calls = 0;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    second = stored.openAnother();
    stores = [storesOn(waitingForLocks(database)), storesOn(waitingForLocks(second))];
  });
  after(async () => {
    try {
      const results = await auditLedger(inOneDatabase(database));
      assert.deepEqual(
        results.flatMap(({ breaches }) => breaches),
        [],
      );
      // All calls in flight: no node has sent a heartbeat.
      assert.deepEqual(await stores[0]!.reservations.listOfDeadNodes('nobody', 0, 1_000), []);
    } finally {
      if (second !== database) await second.close();
      await stored.remove();
    }
  });

  /** Two accounts with two keys each, with enough money. */
  async function createKeys(): Promise<Key[]> {
    const run = ++runs;
    const accountIds = [`acct_limits_${run}_a`, `acct_limits_${run}_b`];
    for (const accountId of accountIds) await openAccount(database, accountId, 1_000_000n);
    const keys = [0, 1, 2, 3].map((n) => ({ accountId: accountIds[n % 2]!, keyId: `key_limits_${run}_${n}` }));
    for (const { accountId, keyId } of keys) {
      await createAccountStore(database).insertKey({
        accountId,
        id: keyId,
        name: 'test',
        keyHash: Buffer.from(keyId),
        prefix: 'sk-fg-…',
        expiresAt: null,
        at: new Date(NOW_MS),
      });
    }
    return keys;
  }

  it('are both changed by two concurrent changes of different limits of one key', async () => {
    const [key] = await createKeys();
    const { accountId, keyId } = key!;
    for (let n = 0; n < 20; n++) {
      await Promise.all([
        stores[0]!.limits.change(accountId, keyId, { dailyCallsMax: n }),
        stores[1]!.limits.change(accountId, keyId, { concurrencyMax: n }),
        stores[1]!.limits.change(accountId, keyId, { dailySpendCapNano: BigInt(n) }),
      ]);
      assert.deepEqual((await stores[0]!.limits.find(accountId, [keyId])).get(keyId), {
        ...NO_LIMITS,
        dailySpendCapNano: BigInt(n),
        dailyCallsMax: n,
        concurrencyMax: n,
      });
    }
  });

  it('are exact if batches of two nodes contend for the same keys in any order, and none deadlocks', async () => {
    const keys = [...(await createKeys()), ...(await createKeys()), ...(await createKeys())];
    const DAILY_CALLS = 25;
    const CONCURRENCY = 6;
    for (const { accountId, keyId } of keys) {
      await stores[0]!.limits.change(accountId, keyId, { dailyCallsMax: DAILY_CALLS, concurrencyMax: CONCURRENCY });
    }
    const running = new Map(keys.map(({ keyId }) => [keyId, 0]));
    const counted = new Map(keys.map(({ keyId }) => [keyId, 0]));
    async function pool(number: number): Promise<void> {
      const store = stores[number % stores.length]!;
      let last: ReservationRequest[] = [];
      for (let round = 0; round < 15; round++) {
        const order = number % 2 === 0 ? keys : keys.toReversed();
        const batch = order.slice(round % 5).flatMap((key) => [0, 1].map(() => limitedRequest(key, `call_${++calls}`)));
        const context = { ...CONTEXT, nodeId: `node_${number}` };
        const verdicts = await verdictsOn(store.reservations, batch, context);
        const mine = batch.filter((_call, i) => verdicts[i] === 'admitted');
        for (const { keyId } of mine) {
          running.set(keyId, running.get(keyId)! + 1);
          assert.ok(running.get(keyId)! <= CONCURRENCY, keyId);
        }
        await end(store, last);
        last = mine;
      }
      await end(store, last);
    }
    async function end({ reservations, settlement }: Stores, ended: readonly ReservationRequest[]): Promise<void> {
      // Before the transaction begins: another node may take the place before this one knows.
      for (const { keyId } of ended) running.set(keyId, running.get(keyId)! - 1);
      const kept = ended.filter((_call, i) => i % 3 !== 0);
      for (const { keyId } of kept) counted.set(keyId, counted.get(keyId)! + 1);
      await Promise.all([
        settlement.end(
          kept.toReversed().map((call) => limitedRecord(call)),
          TIME,
        ),
        reservations.release(
          ended.filter((_call, i) => i % 3 === 0),
          TIME,
        ),
      ]);
    }
    await Promise.all([0, 1, 2, 3].map(pool));
    const uses = await readStoredUses(database, { name: 'test.key-uses', text: 'select * from key_limits' }, []);
    for (const { keyId } of keys) {
      const used = counted.get(keyId)!;
      assert.ok(used <= DAILY_CALLS);
      assert.deepEqual(uses.get(keyId), {
        spentNano: BigInt(2 * used),
        weekSpentNano: BigInt(2 * used),
        monthSpentNano: BigInt(2 * used),
        totalSpentNano: BigInt(2 * used),
        reservedNano: 0n,
        calls: used,
        inFlight: 0,
      });
    }
    assert.ok([...counted.values()].some((used) => used === DAILY_CALLS));
  });
});
