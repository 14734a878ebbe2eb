import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Database } from '../../src/db/database.ts';
import { createAffinities } from '../../src/routing/affinities.ts';
import { type AffinityRecord, type AffinityStore, createAffinityStore } from '../../src/routing/affinity-store.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { observeDatabase } from '../support/observed-database.ts';
import { propertyRuns } from '../support/scope.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 4, 0, 0);

const made = (model: string, providerId: string, atMs = NOW_MS) => ({ model, providerId, atMs });
const affinity = (model: string, providerId: string) => ({ model, providerId });
const known = (entries: Record<string, ReturnType<typeof affinity>>) => new Map(Object.entries(entries));
const nothing = known({});

for (const engine of engines) {
  describe(`affinities on ${engine}`, () => {
    let stored: TestDatabase;
    let database: Database;
    let store: AffinityStore;
    let accounts = 0;
    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      store = createAffinityStore(database);
    });
    after(() => stored.remove());

    /** An account of which nothing is known yet. */
    const account = (): string => `acct_${++accounts}`;

    describe('the store', () => {
      it('finds those of the keys that are known', async () => {
        const accountId = account();
        await store.record([
          { accountId, keys: ['r:1'], ...made('a', 'p1') },
          { accountId, keys: ['e:1', 'e:2'], ...made('b', 'p2') },
        ]);
        const find = async (...keys: string[]) => (await store.find([{ accountId, keys }]))[0];
        assert.deepEqual(
          await find('r:1', 'z', 'e:1'),
          known({ 'r:1': affinity('a', 'p1'), 'e:1': affinity('b', 'p2') }),
        );
        assert.deepEqual(await find('r:1', 'r:1'), known({ 'r:1': affinity('a', 'p1') }));
        assert.deepEqual(await find('z'), nothing);
        assert.deepEqual(await find(), nothing);
      });

      it('answers every lookup of a batch in its place, also where several ask for the same', async () => {
        const [mine, other] = [account(), account()];
        await store.record([
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
            known({ k: affinity('b', 'p2') }),
            nothing,
            known({ k: affinity('a', 'p1') }),
            nothing,
            known({ k: affinity('b', 'p2') }),
          ],
        );
      });

      it('shows an account nothing of another', async () => {
        const [mine, other] = [account(), account()];
        await store.record([{ accountId: mine, keys: ['k'], ...made('a', 'p1') }]);
        assert.deepEqual(await store.find([{ accountId: other, keys: ['k'] }]), [nothing]);
      });

      it('keeps the newest maker of a key, whichever is recorded last', async () => {
        const accountId = account();
        const find = async () => (await store.find([{ accountId, keys: ['k'] }]))[0];
        await store.record([{ accountId, keys: ['k'], ...made('a', 'p1', NOW_MS) }]);
        await store.record([{ accountId, keys: ['k'], ...made('b', 'p2', NOW_MS + 1) }]);
        assert.deepEqual((await find())?.get('k'), affinity('b', 'p2'));
        await store.record([{ accountId, keys: ['k'], ...made('c', 'p3', NOW_MS) }]);
        assert.deepEqual((await find())?.get('k'), affinity('b', 'p2'));
        await store.record([
          { accountId, keys: ['k'], ...made('d', 'p4', NOW_MS + 3) },
          { accountId, keys: ['k', 'k'], ...made('e', 'p5', NOW_MS + 2) },
        ]);
        assert.deepEqual((await find())?.get('k'), affinity('d', 'p4'));
      });

      it('knows after any batches what a map of newest makers would', async () => {
        const step = fc.record({
          account: fc.nat(1),
          keys: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
          provider: fc.constantFrom('p1', 'p2', 'p3'),
        });
        await fc.assert(
          fc.asyncProperty(fc.array(fc.array(step, { maxLength: 5 }), { maxLength: 4 }), async (batches) => {
            const ids = [account(), account()];
            const reference = new Map<string, string>();
            let atMs = NOW_MS;
            for (const batch of batches) {
              const records = batch.map(({ account: index, keys, provider }): AffinityRecord => {
                for (const key of keys) reference.set(`${index} ${key}`, provider);
                return { accountId: ids[index]!, keys, ...made('m', provider, ++atMs) };
              });
              await store.record(records);
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

      it('takes keys and names with characters that arrays quote', async () => {
        const accountId = account();
        const odd = ['a,b', '"quoted"', 'back\\slash', '{brace}', 'NULL', '', ' '];
        await store.record([{ accountId, keys: odd, ...made('m,"\\', 'p{}') }]);
        for (const key of odd)
          assert.deepEqual(await store.find([{ accountId, keys: [key] }]), [
            known({ [key]: affinity('m,"\\', 'p{}') }),
          ]);
      });

      it('forgets what was made before an instant, and nothing else', async () => {
        const accountId = account();
        await store.record([
          { accountId, keys: ['old'], ...made('a', 'p1', NOW_MS - 2) },
          { accountId, keys: ['new'], ...made('a', 'p1', NOW_MS - 1) },
        ]);
        await store.deleteBefore(new Date(NOW_MS - 1));
        const find = (key: string) => ({ accountId, keys: [key] });
        assert.deepEqual(await store.find([find('old'), find('new')]), [nothing, known({ new: affinity('a', 'p1') })]);
      });
    });

    describe('the memory', () => {
      it('finds what was recorded', async () => {
        const affinities = createAffinities(store);
        const accountId = account();
        await affinities.record(accountId, ['r:1', 'e:1'], made('m', 'p1'));
        assert.deepEqual(await affinities.find(accountId, ['z', 'e:1']), known({ 'e:1': affinity('m', 'p1') }));
        assert.deepEqual(await affinities.find(accountId, ['z']), nothing);
        assert.deepEqual(await affinities.find(account(), ['r:1']), nothing);
      });

      it('asks the database nothing where there are no keys', async () => {
        const observed = observeDatabase(database);
        const affinities = createAffinities(createAffinityStore(observed.database));
        assert.deepEqual(await affinities.find(account(), []), nothing);
        await affinities.record(account(), [], made('m', 'p1'));
        assert.equal(observed.statement('routing.find-affinities').asked, 0);
        assert.equal(observed.statement('settlement.end').asked, 0);
      });

      it('asks once for all that ask at the same time, and gives each its own answer', async () => {
        const observed = observeDatabase(database);
        const affinities = createAffinities(createAffinityStore(observed.database));
        const ids = Array.from({ length: 30 }, account);
        await Promise.all(ids.map((id, i) => affinities.record(id, ['k'], made('m', `p${i}`))));
        const found = await Promise.all(ids.map((id) => affinities.find(id, ['k'])));
        assert.deepEqual(
          found.map((each) => each.get('k')?.providerId),
          ids.map((_, i) => `p${i}`),
        );
        assert.equal(observed.statement('routing.find-affinities').asked, 1);
        assert.equal(observed.statement('settlement.end').asked, 1);
      });

      it('fails a record that the database does not take, so that it can be repeated', async () => {
        const observed = observeDatabase(database);
        const affinities = createAffinities(createAffinityStore(observed.database));
        const accountId = account();
        observed.statement('settlement.end').fail('before');
        await assert.rejects(affinities.record(accountId, ['k'], made('m', 'p1')), { code: 'ECONNRESET' });
        observed.statement('settlement.end').recover();
        assert.deepEqual(await affinities.find(accountId, ['k']), nothing);
        await affinities.record(accountId, ['k'], made('m', 'p1'));
        assert.deepEqual(await affinities.find(accountId, ['k']), known({ k: affinity('m', 'p1') }));
      });

      it('fails a lookup that the database cannot answer, and answers the next', async () => {
        const observed = observeDatabase(database);
        const affinities = createAffinities(createAffinityStore(observed.database));
        const accountId = account();
        await affinities.record(accountId, ['k'], made('m', 'p1'));
        observed.statement('routing.find-affinities').fail('before');
        await assert.rejects(affinities.find(accountId, ['k']), { code: 'ECONNRESET' });
        observed.statement('routing.find-affinities').recover();
        assert.deepEqual(await affinities.find(accountId, ['k']), known({ k: affinity('m', 'p1') }));
      });

      it('forgets what is older than thirty days', async () => {
        const affinities = createAffinities(store);
        const accountId = account();
        await affinities.record(accountId, ['old'], made('m', 'p1', NOW_MS - 30 * DAY_MS - 1));
        await affinities.record(accountId, ['kept'], made('m', 'p1', NOW_MS - 30 * DAY_MS));
        await affinities.forgetOld(NOW_MS);
        assert.deepEqual(await affinities.find(accountId, ['old']), nothing);
        assert.deepEqual(await affinities.find(accountId, ['kept']), known({ kept: affinity('m', 'p1') }));
      });

      it('resolves a drain when all that was recorded is stored', async () => {
        const observed = observeDatabase(database);
        const affinities = createAffinities(createAffinityStore(observed.database));
        const records = observed.statement('settlement.end');
        const accountId = account();
        records.hold();
        void affinities.record(accountId, ['k'], made('m', 'p1'));
        await records.reached(1);
        let hasDrained = false;
        const drained = affinities.drain().then(() => {
          hasDrained = true;
        });
        assert.deepEqual(await store.find([{ accountId, keys: ['k'] }]), [nothing]);
        assert.equal(hasDrained, false);
        records.release();
        await drained;
        assert.deepEqual(await store.find([{ accountId, keys: ['k'] }]), [known({ k: affinity('m', 'p1') })]);
      });
    });
  });
}

describe('two nodes on one PostgreSQL', () => {
  let stored: TestDatabase;
  let nodes: readonly Database[];
  before(async () => {
    stored = await createTestDatabase('postgresql');
    nodes = [stored.database, stored.openAnother()];
  });
  after(async () => {
    await nodes[1]!.close();
    await stored.remove();
  });

  it('record the same keys at the same time in opposite orders without deadlock, and the newest maker stays', async () => {
    const ids = Array.from({ length: 8 }, (_, i) => `acct_race_${i}`);
    const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
    const ROUNDS = 60;
    await Promise.all(
      nodes.map(async (database, node) => {
        const store = createAffinityStore(database);
        for (let round = 0; round < ROUNDS; round++) {
          const records = ids.map((accountId) => ({
            accountId,
            // The second node takes keys and accounts in the other order, which deadlocks unless the statement sorts them.
            keys: node === 0 ? keys : keys.toReversed(),
            ...made('m', `p${node}-${round}`, NOW_MS + 2 * round + node),
          }));
          await store.record(node === 0 ? records : records.toReversed());
        }
      }),
    );
    const lookups = ids.flatMap((accountId) => keys.map((key) => ({ accountId, keys: [key] })));
    const found = await createAffinityStore(stored.database).find(lookups);
    for (const each of found) assert.deepEqual([...each.values()][0], affinity('m', `p1-${ROUNDS - 1}`));
  });
});
