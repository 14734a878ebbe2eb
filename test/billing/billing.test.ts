import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/billing/audit.ts';
import { type Billing, createBilling } from '../../src/billing/billing.ts';
import { createBillingStore } from '../../src/billing/store.ts';
import { BatcherFullError } from '../../src/lib/batcher.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createLocalTime } from '../../src/pricing/local-time.ts';
import { holdOf, openAccount, outcomeOf, readBalance } from '../support/books.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';

for (const engine of engines) {
  describe(`billing on ${engine}`, () => {
    let stored: TestDatabase;
    let observed: ObservedDatabase;
    let billing: Billing;
    let names = 0;

    before(async () => {
      stored = await createTestDatabase(engine);
      observed = observeDatabase(stored.database);
      billing = createBilling({
        store: createBillingStore(observed.database),
        clock: systemClock,
        logger: silentLogger,
        nodeId: 'node_test',
        terms: () => ({ localTime: createLocalTime('Asia/Shanghai'), defaultDailyCapNano: null }),
        retryDelayMs: 1,
      });
    });
    after(async () => {
      await billing.drain();
      try {
        for (const { invariant, breaches } of await auditLedger(stored.database))
          assert.deepEqual(breaches, [], invariant);
      } finally {
        await stored.remove();
      }
    });

    const account = async (balanceNano = 1_000n): Promise<string> => {
      const id = `acct_${++names}`;
      await openAccount(stored.database, id, balanceNano);
      return id;
    };

    it('makes one statement of all admissions that come in while another is under way', async () => {
      const id = await account();
      const admissions = observed.statement('reservations.admit');
      const before = admissions.asked;
      admissions.hold();
      const first = billing.admit(holdOf(id, `${id}_first`, 1n));
      await admissions.reached(before + 1);
      const others = Array.from({ length: 50 }, (_, i) => billing.admit(holdOf(id, `${id}_${i}`, 1n)));
      admissions.release();
      assert.deepEqual(
        new Set((await Promise.all([first, ...others])).map(({ verdict }) => verdict)),
        new Set(['admitted']),
      );
      assert.equal(admissions.asked, before + 2);
      await Promise.all(
        ['first', ...Array.from({ length: 50 }, (_, i) => String(i))].map((name) =>
          billing.end(outcomeOf(id, `${id}_${name}`, null)),
        ),
      );
      assert.equal((await readBalance(stored.database, id)).heldNano, 0n);
    });

    it('fails only the call whose data the database refuses', async () => {
      const id = await account();
      const results = await Promise.allSettled([
        billing.admit(holdOf(id, `${id}_good`, 5n)),
        billing.admit(holdOf(id, `${id}_bad`, -5n)),
        billing.admit(holdOf(id, `${id}_fine`, 5n)),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.equal((await readBalance(stored.database, id)).heldNano, 10n);
      await billing.end(outcomeOf(id, `${id}_good`, 1n));
      await billing.end(outcomeOf(id, `${id}_fine`, 1n));
    });

    for (const when of ['before', 'after'] as const) {
      it(`leaves no hold where the connection broke ${when} the database had admitted the call`, async () => {
        const id = await account();
        const admissions = observed.statement('reservations.admit');
        const releases = observed.statement('reservations.release');
        const released = releases.done;
        admissions.fail(when);
        await assert.rejects(billing.admit(holdOf(id, `${id}_lost`, 5n)));
        admissions.recover();
        await releases.completed(released + 1);
        assert.deepEqual(await readBalance(stored.database, id), { balanceNano: 1_000n, heldNano: 0n, spentNano: 0n });
      });

      it(`charges once where the connection broke ${when} the database had ended the call, and it is ended again`, async () => {
        const id = await account();
        await billing.admit(holdOf(id, `${id}_call`, 50n));
        const ends = observed.statement('settlement.end');
        ends.fail(when);
        await assert.rejects(billing.end(outcomeOf(id, `${id}_call`, 40n)));
        ends.recover();
        await billing.end(outcomeOf(id, `${id}_call`, 40n));
        assert.deepEqual(await readBalance(stored.database, id), { balanceNano: 960n, heldNano: 0n, spentNano: 40n });
      });
    }

    it('keeps releasing a hold of a failed admission until the database is back', async () => {
      const id = await account();
      const admissions = observed.statement('reservations.admit');
      const releases = observed.statement('reservations.release');
      const asked = releases.asked;
      const done = releases.done;
      releases.fail('before');
      admissions.fail('after');
      await assert.rejects(billing.admit(holdOf(id, `${id}_lost`, 5n)));
      admissions.recover();
      await releases.reached(asked + 2);
      releases.recover();
      await releases.completed(done + 1);
      assert.equal((await readBalance(stored.database, id)).heldNano, 0n);
    });

    it('resolves a drain when everything that was submitted has been stored', async () => {
      const id = await account();
      await billing.admit(holdOf(id, `${id}_call`, 50n));
      const end = billing.end(outcomeOf(id, `${id}_call`, 7n));
      await billing.drain();
      assert.equal((await readBalance(stored.database, id)).balanceNano, 993n);
      await end;
    });

    it('coalesces ends too, and fails only the one whose data the database refuses', async () => {
      const id = await account();
      const names = Array.from({ length: 20 }, (_, i) => `${id}_${i}`);
      await Promise.all(names.map((name) => billing.admit(holdOf(id, name, 1n))));
      const ends = observed.statement('settlement.end');
      const asked = ends.asked;
      ends.hold();
      const first = billing.end(outcomeOf(id, names[0]!, 1n));
      await ends.reached(asked + 1);
      const others = names.slice(1).map((name, i) => billing.end(outcomeOf(id, name, i === 7 ? 2n ** 64n : 1n)));
      ends.release();
      const results = await Promise.allSettled([first, ...others]);
      // One for the first, one for the other nineteen, and nineteen once more each by itself.
      assert.equal(ends.asked, asked + 21);
      assert.deepEqual(
        results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : [])),
        [8],
      );
      await billing.end(outcomeOf(id, names[8]!, null));
      assert.deepEqual(await readBalance(stored.database, id), { balanceNano: 981n, heldNano: 0n, spentNano: 19n });
    });
  });
}

describe('billing that cannot keep up', () => {
  it('refuses a call at once when its queue is full, and that call leaves nothing behind', async () => {
    const stuck = new Promise<never>(() => undefined);
    const billing = createBilling({
      store: { admitHolds: () => stuck, endCalls: () => stuck, releaseHolds: () => stuck },
      clock: systemClock,
      logger: silentLogger,
      nodeId: 'node_test',
      terms: () => ({ localTime: createLocalTime('UTC'), defaultDailyCapNano: null }),
      waitingItemsMax: 2,
    });
    const hold = holdOf('acct', 'call', 1n);
    void billing.admit(hold);
    await new Promise((resolve) => setImmediate(resolve));
    void billing.admit(hold);
    void billing.admit(hold);
    await assert.rejects(billing.admit(hold), BatcherFullError);
  });

  it('remembers only so many holds that wait to be released, and names each one that it leaves', async () => {
    const left: object[] = [];
    const billing = createBilling({
      store: {
        admitHolds: () => Promise.reject(new Error('the connection was lost')),
        endCalls: () => Promise.resolve([]),
        releaseHolds: () => new Promise<never>(() => undefined),
      },
      clock: systemClock,
      logger: { ...silentLogger, error: (details) => left.push(details) },
      nodeId: 'node_test',
      terms: () => ({ localTime: createLocalTime('UTC'), defaultDailyCapNano: null }),
      waitingItemsMax: 2,
      retryDelayMs: 1,
    });
    for (const call of ['one', 'two', 'three']) {
      await assert.rejects(billing.admit(holdOf('acct', call, 1n)), /connection was lost/);
    }
    assert.deepEqual(left, [{ accountId: 'acct', callId: 'three' }]);
  });
});
