import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import {
  createKeyLimitStore,
  type KeyLimitChange,
  type KeyLimitStore,
  NO_LIMITS,
} from '../../src/accounting/accounts/key-limit-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createResolutionStore } from '../../src/accounting/corrections/resolution-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import type { CallName, ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import { inOneDatabase } from '../../src/db/home-lanes.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  createTestNode,
  openAccount,
  outcomeOf,
  periodsAt,
  periodsOf,
  recordOf,
  requestOf,
  type TestNode,
  timeAt,
  timeOf,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { waitingForLocks } from '../support/locks.ts';
import { isQuickRun, propertyRuns } from '../support/scope.ts';
import { type KeyVerdict, ReferenceKey } from './reference.ts';
import { readStoredUses } from './stored-uses.ts';

const DAYS = ['2026-02-27', '2026-02-28', '2026-03-01', '2026-12-31', '2027-01-01'];
const NOW = new Date('2026-11-20T04:00:00Z');

/** A plan that limits nothing, for calls that cost no money. */
const WIDE = planOf({ id: 'wide', fiveHourCalls: 1_000_000, weeklyCalls: 1_000_000, concurrency: 1_000_000 });
/** Just behind midnight of a day, or as much before it: the clock went back by less than a minute. */
const instantOf = (day: string, isBack: boolean): number =>
  Date.parse(`${day}T00:00+08:00`) + (isBack ? -20_000 : 20_000);
const contextAt = (atMs: number) => ({ ...CONTEXT, ...periodsAt(atMs), plans: new Map([[WIDE.id, WIDE]]) });
const contextOf = (today: string) => ({ ...CONTEXT, ...periodsOf(today), plans: new Map([[WIDE.id, WIDE]]) });

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

/** A call of a limited key: on the balance, or without an amount on the plan. */
function limitedRequest({ accountId, keyId }: Key, callId: string, amountNano: bigint | null): ReservationRequest {
  const plan = amountNano === null ? { inputBytes: 1, outputTokensRequested: 0, tokens: 0, innerModels: [] } : null;
  return requestOf(accountId, callId, amountNano, { keyId, isKeyLimited: true, plan });
}

/** The end of one: whatever pays for it, what it costs is charged. */
function limitedRecord(
  { accountId, keyId, callId }: CallName & Key,
  key: { counts: boolean; chargeNano: bigint },
): SettlementRecord {
  return recordOf(
    { ...outcomeOf(accountId, callId, key.chargeNano), keyId },
    { key, plan: { counts: key.counts, tokens: 0 } },
  );
}

async function createKey(database: Database, accountId: string, id: string): Promise<void> {
  await createAccountStore(database).insertKey({
    accountId,
    id,
    name: 'test',
    keyHash: Buffer.from(id),
    prefix: 'sk-fg-…',
    expiresAt: null,
    at: NOW,
  });
}

async function assertSound(database: Database): Promise<void> {
  const results = await auditLedger(inOneDatabase(database));
  assert.deepEqual(
    results.flatMap(({ breaches }) => breaches),
    [],
  );
}

/** All calls in flight: no node has said that it lives. */
const openCalls = ({ reservations }: Stores) => reservations.listOfDeadNodes('nobody', 0, 1_000);

/** What is stored of a key; `null` where it never had a limit. */
async function readUse(database: Database, keyId: string) {
  return (await readUses(database, [keyId]))[0]!;
}

/** What is stored of each of some keys. */
async function readUses(database: Database, keyIds: readonly string[]) {
  const uses = await readStoredUses(
    database,
    { name: 'test.key-uses', text: 'select * from key_limits where key_id = any ($1::text[])' },
    [`{${keyIds.join(',')}}`],
  );
  return keyIds.map((keyId) => uses.get(keyId) ?? null);
}

const limit = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null | undefined> =>
  fc.oneof({ weight: 3, arbitrary: value }, fc.constant(null), fc.constant(undefined));

const change: fc.Arbitrary<KeyLimitChange> = fc.record({
  dailySpendCapNano: limit(fc.bigInt(0n, 40n)),
  weeklySpendCapNano: limit(fc.bigInt(0n, 60n)),
  monthlySpendCapNano: limit(fc.bigInt(0n, 60n)),
  totalSpendCapNano: limit(fc.bigInt(0n, 120n)),
  dailyCallsMax: limit(fc.nat(7)),
  concurrencyMax: limit(fc.nat(5)),
});

/** Which of the keys, and which of the two nodes, are numbers that are taken modulo how many there are. */
type Step =
  | {
      readonly kind: 'calls';
      readonly isBack: boolean;
      readonly calls: readonly { key: number; amountNano: bigint | null }[];
    }
  | {
      readonly kind: 'end';
      readonly isBack: boolean;
      readonly ends: readonly { which: number; counts: boolean; chargeNano: bigint; isRepeated: boolean }[];
    }
  | { readonly kind: 'release'; readonly which: number }
  | { readonly kind: 'next day' }
  | { readonly kind: 'change'; readonly key: number; readonly change: KeyLimitChange };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      isBack: fc.boolean(),
      calls: fc.array(
        // Calls at coding addresses cost nothing, and come in the same batches.
        fc.record({
          key: fc.nat(3),
          amountNano: fc.oneof({ weight: 3, arbitrary: fc.bigInt(0n, 15n) }, fc.constant(null)),
        }),
        { minLength: 1, maxLength: 12 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      isBack: fc.boolean(),
      ends: fc.array(
        fc.record({
          which: fc.nat(20),
          counts: fc.boolean(),
          chargeNano: fc.bigInt(0n, 20n),
          isRepeated: fc.boolean(),
        }),
        { minLength: 1, maxLength: 6 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('next day' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('change' as const), key: fc.nat(3), change }) },
);

for (const engine of engines) {
  describe(`the limits of keys on ${engine}`, { timeout: 240_000 }, () => {
    let stored: TestDatabase;
    let second: Database;
    let database: Database;
    let stores: readonly Stores[];
    let runs = 0;
    let calls = 0;

    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      second = engine === 'postgresql' ? stored.openAnother() : database;
      stores = [storesOn(waitingForLocks(database)), storesOn(waitingForLocks(second))];
    });
    after(async () => {
      try {
        await assertSound(database);
        assert.deepEqual(await openCalls(stores[0]!), []);
      } finally {
        if (second !== database) await second.close();
        await stored.remove();
      }
    });

    /** Two accounts with two keys each, with enough money and a plan. */
    async function createKeys(): Promise<{ accountId: string; keyId: string; reference: ReferenceKey }[]> {
      const run = ++runs;
      const accountIds = [`acct_limits_${run}_a`, `acct_limits_${run}_b`];
      for (const accountId of accountIds) {
        await openAccount(database, accountId, 1_000_000n);
        await createSubscriptionStore(database).grant({
          accountId,
          id: `sub_${accountId}`,
          planId: WIDE.id,
          startsAt: new Date('2026-01-01T00:00Z'),
          endsAt: new Date('2027-12-31T00:00Z'),
          at: NOW,
        });
      }
      const keys = [0, 1, 2, 3].map((n) => ({
        accountId: accountIds[n % 2]!,
        keyId: `key_limits_${run}_${n}`,
        reference: new ReferenceKey(),
      }));
      for (const { accountId, keyId } of keys) await createKey(database, accountId, keyId);
      return keys;
    }

    it('admit exactly what the reference admits, with the same reasons, and count what it counts', async () => {
      const seen = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(
          fc.array(change, { minLength: 4, maxLength: 4 }),
          fc.array(step, { minLength: 5, maxLength: 30 }),
          async (limits, steps) => {
            const keys = await createKeys();
            const owner = new Map<string, (typeof keys)[number]>();
            let inFlight: string[] = [];
            let day = 1;

            async function apply(keyIndex: number, wanted: KeyLimitChange, store: Stores): Promise<void> {
              const { accountId, keyId, reference } = keys[keyIndex]!;
              reference.change(wanted);
              assert.deepEqual(await store.limits.change(accountId, keyId, wanted), reference.limits);
              assert.deepEqual((await store.limits.find(accountId, [keyId, 'key_other'])).get(keyId), reference.limits);
            }
            for (const [i, wanted] of limits.entries()) await apply(i, wanted, stores[0]!);

            for (const [index, taken] of steps.entries()) {
              const store = stores[index % stores.length]!;
              const atMs = instantOf(DAYS[day]!, 'isBack' in taken && taken.isBack);
              const { today } = periodsAt(atMs);
              switch (taken.kind) {
                case 'calls': {
                  const batch = taken.calls.map(({ key, amountNano }) => {
                    const callId = `call_${engine}_${++calls}`;
                    owner.set(callId, keys[key]!);
                    return limitedRequest(keys[key]!, callId, amountNano);
                  });
                  const verdicts = await verdictsOn(store.reservations, batch, contextAt(atMs));
                  const expected: KeyVerdict[] = batch.map((call) =>
                    owner.get(call.callId)!.reference.admit(call, today),
                  );
                  assert.deepEqual(verdicts, expected, `step ${index}`);
                  inFlight.push(...batch.filter((_call, i) => verdicts[i] === 'admitted').map(({ callId }) => callId));
                  for (const verdict of verdicts) seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
                  break;
                }
                case 'end': {
                  const ended = new Map<string, { callId: string; counts: boolean; chargeNano: bigint }>();
                  const batch: SettlementRecord[] = [];
                  for (const { which, counts, chargeNano, isRepeated } of taken.ends) {
                    const callId = inFlight[which % Math.max(inFlight.length, 1)];
                    if (callId === undefined || ended.has(callId)) continue;
                    const { accountId, keyId } = owner.get(callId)!;
                    const use = { counts, chargeNano: counts ? chargeNano : 0n };
                    const record = limitedRecord({ accountId, keyId, callId }, use);
                    ended.set(callId, { callId, ...use });
                    batch.push(record, ...(isRepeated ? [record] : []));
                  }
                  await store.settlement.end(batch, timeAt(atMs));
                  for (const outcome of ended.values()) owner.get(outcome.callId)!.reference.end(outcome, today);
                  inFlight = inFlight.filter((callId) => !ended.has(callId));
                  // A node that never got the reply stores the end again, another day perhaps.
                  if (taken.ends[0]!.isRepeated)
                    await store.settlement.end(batch, timeAt(instantOf(DAYS[day]!, false)));
                  break;
                }
                case 'release': {
                  const [callId] = inFlight.splice(taken.which % Math.max(inFlight.length, 1), 1);
                  const unknown = { accountId: keys[0]!.accountId, callId: 'call_never_admitted' };
                  const held = callId === undefined ? [] : [{ accountId: owner.get(callId)!.accountId, callId }];
                  await store.reservations.release([unknown, ...held], timeAt(atMs));
                  for (const call of held) {
                    owner.get(call.callId)!.reference.end({ ...call, counts: false, chargeNano: 0n }, today);
                  }
                  break;
                }
                case 'next day':
                  day = Math.min(day + 1, DAYS.length - 1);
                  break;
                case 'change':
                  await apply(taken.key, taken.change, store);
                  break;
              }
              const uses = await readUses(
                database,
                keys.map(({ keyId }) => keyId),
              );
              const wanted = keys.map(({ reference }) => reference.use());
              assert.deepEqual(uses, wanted, `after step ${index}`);
            }
            const open = (await openCalls(stores[0]!)).filter(({ callId }) => owner.has(callId));
            const held = open.map(({ callId }) => callId);
            assert.deepEqual(held.sort(), inFlight.sort());
            await stores[0]!.reservations.release(open, timeOf(DAYS[day]!));
          },
        ),
        { numRuns: propertyRuns(engine === 'embedded' ? 15 : 40) },
      );
      // The few runs of a quick run, and of the embedded engine, do not meet everything.
      if (isQuickRun || engine === 'embedded') return;
      for (const verdict of [
        'admitted',
        'keyTotalSpendLimitReached',
        'keyMonthlySpendLimitReached',
        'keyWeeklySpendLimitReached',
        'keySpendLimitReached',
        'keyCallsLimitReached',
        'keyConcurrencyLimited',
      ]) {
        assert.ok((seen.get(verdict) ?? 0) > 20, `${verdict} was hardly ever the response`);
      }
    });

    it('let calls that cost nothing pass by those of the same key that the cap of spending stops', async () => {
      const key = (await createKeys())[0]!;
      await stores[0]!.limits.change(key.accountId, key.keyId, { dailySpendCapNano: 0n, dailyCallsMax: 1 });
      const batch = [5n, 5n, null, null].map((amountNano) =>
        limitedRequest(key, `call_${engine}_${++calls}`, amountNano),
      );
      assert.deepEqual(await verdictsOn(stores[0]!.reservations, batch, contextOf(DAYS[0]!)), [
        'keySpendLimitReached',
        'keySpendLimitReached',
        'admitted',
        'keyCallsLimitReached',
      ]);
      await stores[0]!.reservations.release(batch, timeOf(DAYS[0]!));
    });

    it('count the charge of a call that ends, or is resolved, when its node was taken for dead', async () => {
      const [ended, resolved, unlimited] = await createKeys();
      const [{ limits, reservations, settlement }] = stores as [Stores];
      const today = '2026-12-31';
      for (const key of [ended!, resolved!]) {
        await limits.change(key.accountId, key.keyId, { totalSpendCapNano: 100n });
      }
      const died = await Promise.all(
        [ended!, resolved!, unlimited!].map(async (key) => {
          const request = {
            ...limitedRequest(key, `call_${engine}_${++calls}`, 50n),
            isKeyLimited: key !== unlimited,
          };
          assert.deepEqual(await verdictsOn(reservations, [request], contextOf(DAYS[0]!)), ['admitted']);
          await settlement.resolve([request], timeOf(DAYS[0]!));
          return request;
        }),
      );
      const [late, byHand, free] = died;
      const outcome = { ...outcomeOf(late!.accountId, late!.callId, 40n), keyId: late!.keyId };
      const record = recordOf(outcome, { key: { counts: true, chargeNano: 40n } });
      await settlement.end([record, record], timeOf(today));
      await settlement.end([record], timeOf(today));
      for (const { callId } of [byHand!, free!]) {
        const resolution = { action: 'charge', chargeNano: 40n } as const;
        const request = {
          callId,
          resolution,
          by: null,
          via: 'command_line',
          memo: null,
          idempotencyKey: null,
        } as const;
        for (const again of ['resolved', 'repeated']) {
          const result = await createResolutionStore(database).resolve({ ...request, periods: periodsOf(today) });
          assert.equal(result.outcome, again);
        }
      }
      const spent = { spentNano: 40n, weekSpentNano: 40n, monthSpentNano: 40n, totalSpentNano: 40n };
      for (const { keyId } of [ended!, resolved!]) {
        assert.deepEqual(await readUse(database, keyId), { ...spent, reservedNano: 0n, calls: 0, inFlight: 0 });
      }
      assert.equal(await readUse(database, unlimited!.keyId), null);
    });

    it('are kept apart for each key, and change without touching what is counted', async () => {
      const [first, other] = await createKeys();
      const [{ limits, reservations }] = stores as [Stores];
      const ask = (key: typeof first, amountNano: bigint) => {
        const request = limitedRequest(key!, `call_${engine}_${++calls}`, amountNano);
        return verdictsOn(reservations, [request], contextOf(DAYS[0]!));
      };
      const spent = { spentNano: 0n, weekSpentNano: 0n, monthSpentNano: 0n, totalSpentNano: 0n };
      const counted = { ...spent, reservedNano: 7n, calls: 1, inFlight: 1 };
      await limits.change(first!.accountId, first!.keyId, { dailyCallsMax: 1 });
      await limits.change(other!.accountId, other!.keyId, { dailyCallsMax: 1 });
      assert.deepEqual(await ask(first, 7n), ['admitted']);
      assert.deepEqual(await ask(first, 7n), ['keyCallsLimitReached']);
      assert.deepEqual(await ask(other, 7n), ['admitted']);
      assert.deepEqual(await readUse(database, first!.keyId), counted);

      await limits.change(first!.accountId, first!.keyId, { dailyCallsMax: null, dailySpendCapNano: 7n });
      assert.deepEqual(await readUse(database, first!.keyId), counted);
      assert.deepEqual(await ask(first, 1n), ['keySpendLimitReached']);
      await limits.change(first!.accountId, first!.keyId, { dailySpendCapNano: 8n });
      assert.deepEqual(await ask(first, 100n), ['admitted']);
      await reservations.release(await openCalls(stores[0]!), timeOf(DAYS[0]!));
    });

    it('are both changed if two changes of different limits of one key are made at once', async () => {
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

    it('are exact if batches of two nodes meet at the same keys in any order, and none waits for ever', async () => {
      const keys = [...(await createKeys()), ...(await createKeys()), ...(await createKeys())];
      const DAILY_CALLS = 25;
      const CONCURRENCY = 6;
      for (const { accountId, keyId } of keys) {
        await stores[0]!.limits.change(accountId, keyId, { dailyCallsMax: DAILY_CALLS, concurrencyMax: CONCURRENCY });
      }
      const running = new Map(keys.map(({ keyId }) => [keyId, 0]));
      const counted = new Map(keys.map(({ keyId }) => [keyId, 0]));
      async function lane(number: number): Promise<void> {
        const store = stores[number % stores.length]!;
        let last: ReservationRequest[] = [];
        for (let round = 0; round < 15; round++) {
          const order = number % 2 === 0 ? keys : keys.toReversed();
          const batch = order
            .slice(round % 5)
            .flatMap((key) => [0, 1].map(() => limitedRequest(key, `call_${engine}_${++calls}`, 1n)));
          const context = { ...contextOf(DAYS[0]!), nodeId: `node_${number}` };
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
            kept.toReversed().map((call) => limitedRecord(call, { counts: true, chargeNano: 2n })),
            timeOf(DAYS[0]!),
          ),
          reservations.release(
            ended.filter((_call, i) => i % 3 === 0),
            timeOf(DAYS[0]!),
          ),
        ]);
      }
      await Promise.all([0, 1, 2, 3].map(lane));
      for (const { keyId } of keys) {
        const used = counted.get(keyId)!;
        assert.ok(used <= DAILY_CALLS);
        assert.deepEqual(await readUse(database, keyId), {
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
}
