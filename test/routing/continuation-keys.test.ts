import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type ContinuationKeyStore,
  createContinuationKeyStore,
} from '../../src/accounting/continuation/continuation-key-store.ts';
import { createContinuationKeys, oldestContinuationKey } from '../../src/accounting/continuation/continuation-keys.ts';
import type { MadeState } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import { createTestNode, openAccount, outcomeOf, recordOf, TIME } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitingForLocks } from '../support/locks.ts';
import { observeDatabase } from '../support/observed-database.ts';
import { patientQuestions } from '../support/questions.ts';
import { propertyRuns } from '../support/scope.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 4, 0, 0);

/** What the response of a call contained, for later calls of its account. */
interface AffinityRecord extends MadeState {
  readonly accountId: string;
}

let calls = 0;

/** The end of a call that created state. */
const recordWith = ({ accountId, ...made }: AffinityRecord) =>
  recordOf(outcomeOf(accountId, `call_${++calls}`, null), { made });

/** Ends calls that created state, in one transaction. */
async function record(database: Database, records: readonly AffinityRecord[]): Promise<void> {
  await createTestNode(waitingForLocks(database)).stores.settlement.end(records.map(recordWith), TIME);
}

const made = (model: string, providerId: string, atMs = NOW_MS) => ({ model, providerId, atMs });
const continuedState = (model: string, providerId: string) => ({ model, providerId });
const known = (entries: Record<string, ReturnType<typeof continuedState>>) => new Map(Object.entries(entries));
const nothing = known({});

describe(`continuation keys`, () => {
  let stored: TestDatabase;
  let database: Database;
  let store: ContinuationKeyStore;
  let accounts = 0;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    store = createContinuationKeyStore(database);
  });
  after(() => stored.remove());

  /** A new account. */
  const account = async (): Promise<string> => {
    const id = `acct_${++accounts}`;
    await openAccount(database, id, 0n);
    return id;
  };

  describe('the store', () => {
    it('finds known keys', async () => {
      const accountId = await account();
      await record(database, [
        { accountId, keys: ['r:1'], ...made('a', 'p1') },
        { accountId, keys: ['e:1', 'e:2'], ...made('b', 'p2') },
      ]);
      const find = async (...keys: string[]) => (await store.find([{ accountId, keys }]))[0];
      assert.deepEqual(
        await find('r:1', 'z', 'e:1'),
        known({ 'r:1': continuedState('a', 'p1'), 'e:1': continuedState('b', 'p2') }),
      );
      assert.deepEqual(await find('r:1', 'r:1'), known({ 'r:1': continuedState('a', 'p1') }));
      assert.deepEqual(await find('z'), nothing);
      assert.deepEqual(await find(), nothing);
    });

    it('returns the results of a batch in order, even if several are for the same key', async () => {
      const [mine, other] = [await account(), await account()];
      await record(database, [
        { accountId: mine, keys: ['k'], ...made('a', 'p1') },
        { accountId: other, keys: ['k'], ...made('b', 'p2') },
      ]);
      assert.deepEqual(
        await store.find([
          { accountId: other, keys: ['k'] },
          { accountId: mine, keys: ['nothing'] },
          { accountId: mine, keys: ['nothing', 'k'] },
          { accountId: mine, keys: [] },
          { accountId: other, keys: ['k'] },
        ]),
        [
          known({ k: continuedState('b', 'p2') }),
          nothing,
          known({ k: continuedState('a', 'p1') }),
          nothing,
          known({ k: continuedState('b', 'p2') }),
        ],
      );
    });

    it('does not share keys between accounts', async () => {
      const [mine, other] = [await account(), await account()];
      await record(database, [{ accountId: mine, keys: ['k'], ...made('a', 'p1') }]);
      assert.deepEqual(await store.find([{ accountId: other, keys: ['k'] }]), [nothing]);
    });

    it('keeps the newest provider of a key, in whatever order they are recorded', async () => {
      const accountId = await account();
      const find = async () => (await store.find([{ accountId, keys: ['k'] }]))[0];
      await record(database, [{ accountId, keys: ['k'], ...made('a', 'p1', NOW_MS) }]);
      await record(database, [{ accountId, keys: ['k'], ...made('b', 'p2', NOW_MS + 1) }]);
      assert.deepEqual((await find())?.get('k'), continuedState('b', 'p2'));
      await record(database, [{ accountId, keys: ['k'], ...made('c', 'p3', NOW_MS) }]);
      assert.deepEqual((await find())?.get('k'), continuedState('b', 'p2'));
      await record(database, [
        { accountId, keys: ['k'], ...made('d', 'p4', NOW_MS + 3) },
        { accountId, keys: ['k', 'k'], ...made('e', 'p5', NOW_MS + 2) },
      ]);
      assert.deepEqual((await find())?.get('k'), continuedState('d', 'p4'));
    });

    it('equals a map of the newest providers after any batches', async () => {
      const step = fc.record({
        account: fc.nat(1),
        keys: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
        provider: fc.constantFrom('p1', 'p2', 'p3'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(step, { maxLength: 5 }), { maxLength: 4 }), async (batches) => {
          const ids = [await account(), await account()];
          const reference = new Map<string, string>();
          let atMs = NOW_MS;
          for (const batch of batches) {
            const records = batch.map(({ account: index, keys, provider }): AffinityRecord => {
              for (const key of keys) reference.set(`${index} ${key}`, provider);
              return { accountId: ids[index]!, keys, ...made('m', provider, ++atMs) };
            });
            await record(database, records);
          }
          const asked = [0, 1].flatMap((index) => ['a', 'b', 'c'].map((key) => ({ index, key })));
          const found = await store.find(asked.map(({ index, key }) => ({ accountId: ids[index]!, keys: [key] })));
          assert.deepEqual(
            found.map((each, i) => each.get(asked[i]!.key)?.providerId ?? null),
            asked.map(({ index, key }) => reference.get(`${index} ${key}`) ?? null),
          );
        }),
        { numRuns: propertyRuns(40) },
      );
    });

    it('accepts keys and names with characters that need quoting in arrays', async () => {
      const accountId = await account();
      const odd = ['a,b', '"quoted"', 'back\\slash', '{brace}', 'NULL', '', ' '];
      await record(database, [{ accountId, keys: odd, ...made('m,"\\', 'p{}') }]);
      for (const key of odd)
        assert.deepEqual(await store.find([{ accountId, keys: [key] }]), [
          known({ [key]: continuedState('m,"\\', 'p{}') }),
        ]);
    });

    it('deletes keys older than a given time, and no others', async () => {
      const accountId = await account();
      await record(database, [
        { accountId, keys: ['old'], ...made('a', 'p1', NOW_MS - 2) },
        { accountId, keys: ['new'], ...made('a', 'p1', NOW_MS - 1) },
      ]);
      await store.deleteBefore(new Date(NOW_MS - 1));
      const find = (key: string) => ({ accountId, keys: [key] });
      assert.deepEqual(await store.find([find('old'), find('new')]), [
        nothing,
        known({ new: continuedState('a', 'p1') }),
      ]);
    });
  });

  describe('a backlog of old keys', () => {
    it('is interrupted after a batch if the node shuts down, and completed in the next round', async () => {
      const accountId = await account();
      const keys = Array.from({ length: 600 }, (_, i) => `old-${i}`);
      await record(database, [{ accountId, keys, ...made('a', 'p1', NOW_MS - 10 * DAY_MS) }]);
      const countLeft = async () => (await store.find([{ accountId, keys }]))[0]!.size;
      await store.deleteBefore(new Date(NOW_MS - 9 * DAY_MS), AbortSignal.abort());
      assert.equal(await countLeft(), 100);
      await store.deleteBefore(new Date(NOW_MS - 9 * DAY_MS));
      assert.equal(await countLeft(), 0);
    });
  });

  describe('the end of a call', () => {
    it('records continuation keys in the same transaction', async () => {
      const observed = observeDatabase(database);
      const node = createTestNode(observed.database);
      const continuationKeys = createContinuationKeys(store, patientQuestions());
      const accountId = await account();
      const settled = recordWith({ accountId, keys: ['k'], ...made('m', 'p1') });
      const ends = observed.statement('settlement.end');
      ends.fail('before');
      await assert.rejects(node.settlement.end(settled), { code: 'ECONNRESET' });
      ends.recover();
      assert.deepEqual(await continuationKeys.find(accountId, ['k']), nothing);
      await node.settlement.end(settled);
      assert.deepEqual(await continuationKeys.find(accountId, ['k']), known({ k: continuedState('m', 'p1') }));
    });

    it('records nothing if the call had already ended, with or without other keys', async () => {
      const continuationKeys = createContinuationKeys(store, patientQuestions());
      const accountId = await account();
      const settled = recordWith({ accountId, keys: ['first'], ...made('m', 'p1') });
      const { settlement } = createTestNode(database).stores;
      const second = { ...made('m', 'p2'), keys: ['first', 'second'] };
      await settlement.end([settled, { ...settled, made: second }], TIME);
      await settlement.end([{ ...settled, made: second }], TIME);
      assert.deepEqual(
        await continuationKeys.find(accountId, ['first', 'second']),
        known({ first: continuedState('m', 'p1') }),
      );
    });

    it('records nothing if a call created nothing', async () => {
      const written: string[] = [];
      const watched: Database = {
        ...database,
        readThenWrite: ({ decide, ...transaction }) =>
          database.readThenWrite({
            ...transaction,
            decide(rows) {
              const decision = decide(rows);
              written.push(...decision.writes.map(({ statement }) => statement.name));
              return decision;
            },
          }),
      };
      const accountId = await account();
      const { settlement } = createTestNode(watched).stores;
      await settlement.end([recordOf(outcomeOf(accountId, 'call_made_nothing', null))], TIME);
      assert.ok(!written.includes('settlement.record-continuation-keys'));
      await settlement.end([recordWith({ accountId, keys: ['k'], ...made('m', 'p1') })], TIME);
      assert.equal(written.filter((name) => name === 'settlement.record-continuation-keys').length, 1);
    });

    it('is combined in one transaction with other calls that end at the same time', async () => {
      const observed = observeDatabase(database);
      const node = createTestNode(observed.database);
      const ids = await Promise.all(Array.from({ length: 30 }, account));
      await Promise.all(
        ids.map((accountId, i) => node.settlement.end(recordWith({ accountId, keys: ['k'], ...made('m', `p${i}`) }))),
      );
      assert.equal(observed.statement('settlement.end').asked, 1);
      const found = await store.find(ids.map((accountId) => ({ accountId, keys: ['k'] })));
      assert.deepEqual(
        found.map((each) => each.get('k')?.providerId),
        ids.map((_, i) => `p${i}`),
      );
    });

    it('is durable for all calls when a drain resolves', async () => {
      const observed = observeDatabase(database);
      const node = createTestNode(observed.database);
      const ends = observed.statement('settlement.end');
      const accountId = await account();
      ends.hold();
      void node.settlement.end(recordWith({ accountId, keys: ['k'], ...made('m', 'p1') }));
      await ends.reached(1);
      let hasDrained = false;
      const drained = node.drain().then(() => {
        hasDrained = true;
      });
      assert.deepEqual(await store.find([{ accountId, keys: ['k'] }]), [nothing]);
      assert.equal(hasDrained, false);
      ends.release();
      await drained;
      assert.deepEqual(await store.find([{ accountId, keys: ['k'] }]), [known({ k: continuedState('m', 'p1') })]);
    });
  });

  describe('the memory', () => {
    it('finds what was recorded', async () => {
      const continuationKeys = createContinuationKeys(store, patientQuestions());
      const accountId = await account();
      await record(database, [{ accountId, keys: ['r:1', 'e:1'], ...made('m', 'p1') }]);
      assert.deepEqual(
        await continuationKeys.find(accountId, ['z', 'e:1']),
        known({ 'e:1': continuedState('m', 'p1') }),
      );
      assert.deepEqual(await continuationKeys.find(accountId, ['z']), nothing);
      assert.deepEqual(await continuationKeys.find(await account(), ['r:1']), nothing);
    });

    it('does not query the database without keys', async () => {
      const observed = observeDatabase(database);
      const continuationKeys = createContinuationKeys(
        createContinuationKeyStore(observed.database),
        patientQuestions(),
      );
      assert.deepEqual(await continuationKeys.find(await account(), []), nothing);
      assert.equal(observed.statement('routing.find-affinities').asked, 0);
    });

    it('combines concurrent lookups in one query, and returns each its own result', async () => {
      const observed = observeDatabase(database);
      const continuationKeys = createContinuationKeys(
        createContinuationKeyStore(observed.database),
        patientQuestions(),
      );
      const ids = await Promise.all(Array.from({ length: 30 }, account));
      await record(
        database,
        ids.map((accountId, i) => ({ accountId, keys: ['k'], ...made('m', `p${i}`) })),
      );
      const found = await Promise.all(ids.map((id) => continuationKeys.find(id, ['k'])));
      assert.deepEqual(
        found.map((each) => each.get('k')?.providerId),
        ids.map((_, i) => `p${i}`),
      );
      assert.equal(observed.statement('routing.find-affinities').asked, 1);
    });

    it('fails lookups while the database is down, and serves later ones', async () => {
      const observed = observeDatabase(database);
      const continuationKeys = createContinuationKeys(
        createContinuationKeyStore(observed.database),
        patientQuestions(),
      );
      const accountId = await account();
      await record(database, [{ accountId, keys: ['k'], ...made('m', 'p1') }]);
      observed.statement('routing.find-affinities').fail('before');
      await assert.rejects(continuationKeys.find(accountId, ['k']), { kind: 'databaseDown' });
      observed.statement('routing.find-affinities').recover();
      assert.deepEqual(await continuationKeys.find(accountId, ['k']), known({ k: continuedState('m', 'p1') }));
    });

    it('deletes keys that are older than thirty days', async () => {
      const continuationKeys = createContinuationKeys(store, patientQuestions());
      const accountId = await account();
      await record(database, [
        { accountId, keys: ['old'], ...made('m', 'p1', NOW_MS - 30 * DAY_MS - 1) },
        { accountId, keys: ['kept'], ...made('m', 'p1', NOW_MS - 30 * DAY_MS) },
      ]);
      await store.deleteBefore(oldestContinuationKey(NOW_MS));
      assert.deepEqual(await continuationKeys.find(accountId, ['old']), nothing);
      assert.deepEqual(await continuationKeys.find(accountId, ['kept']), known({ kept: continuedState('m', 'p1') }));
    });
  });
});

describe('two nodes on one PostgreSQL', () => {
  let stored: TestDatabase;
  let nodes: readonly Database[];
  before(async () => {
    stored = await createTestDatabase();
    nodes = [stored.database, stored.openAnother()];
  });
  after(async () => {
    await nodes[1]!.close();
    await stored.remove();
  });

  it('record the same keys concurrently in opposite orders without deadlock, and the newest provider is kept', async () => {
    const ids = Array.from({ length: 8 }, (_, i) => `acct_race_${i}`);
    const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
    const ROUNDS = 60;
    for (const id of ids) await openAccount(stored.database, id, 0n);
    await Promise.all(
      nodes.map(async (database, node) => {
        for (let round = 0; round < ROUNDS; round++) {
          const records = ids.map((accountId) => ({
            accountId,
            // The second node uses the opposite order, which deadlocks unless the statement sorts keys and accounts.
            keys: node === 0 ? keys : keys.toReversed(),
            ...made('m', `p${node}-${round}`, NOW_MS + 2 * round + node),
          }));
          await record(database, node === 0 ? records : records.toReversed());
        }
      }),
    );
    const lookups = ids.flatMap((accountId) => keys.map((key) => ({ accountId, keys: [key] })));
    const found = await createContinuationKeyStore(stored.database).find(lookups);
    for (const each of found) assert.deepEqual([...each.values()][0], continuedState('m', `p1-${ROUNDS - 1}`));
  });
});
