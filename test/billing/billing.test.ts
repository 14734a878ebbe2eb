import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import {
  createTestNode,
  openAccount,
  outcomeOf,
  readBalance,
  requestOf,
  type TestNode,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';

describe(`admissions and ends of calls`, () => {
  let stored: TestDatabase;
  let observed: ObservedDatabase;
  let node: TestNode;
  let names = 0;

  before(async () => {
    stored = await createTestDatabase();
    observed = observeDatabase(stored.database);
    node = createTestNode(observed.database);
  });
  after(async () => {
    await node.drain();
    try {
      for (const { invariant, breaches } of await auditLedger(inOneDatabase(stored.database)))
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

  it('makes one transaction of all admissions that arrive while another is pending', async () => {
    const id = await account();
    const admissions = observed.statement('reservations.admit');
    const before = admissions.asked;
    admissions.hold();
    const first = node.reservations.admit(requestOf(id, `${id}_first`, 1n));
    await admissions.reached(before + 1);
    const others = Array.from({ length: 50 }, (_, i) => node.reservations.admit(requestOf(id, `${id}_${i}`, 1n)));
    admissions.release();
    assert.deepEqual(
      new Set((await Promise.all([first, ...others])).map(({ isAdmitted }) => isAdmitted)),
      new Set([true]),
    );
    assert.equal(admissions.asked, before + 2);
    await Promise.all(
      ['first', ...Array.from({ length: 50 }, (_, i) => String(i))].map((name) =>
        node.end(outcomeOf(id, `${id}_${name}`, null)),
      ),
    );
    assert.equal((await readBalance(stored.database, id)).reservedNano, 0n);
  });

  it('fails only the call whose data the database refuses', async () => {
    const id = await account();
    const results = await Promise.allSettled([
      node.reservations.admit(requestOf(id, `${id}_good`, 5n)),
      node.reservations.admit(requestOf(id, `${id}_bad`, -5n)),
      node.reservations.admit(requestOf(id, `${id}_fine`, 5n)),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await readBalance(stored.database, id)).reservedNano, 10n);
    await node.end(outcomeOf(id, `${id}_good`, 1n));
    await node.end(outcomeOf(id, `${id}_fine`, 1n));
  });

  for (const when of ['before', 'after'] as const) {
    it(`leaves no reservation if the connection broke ${when} the database had admitted the call`, async () => {
      const id = await account();
      const admissions = observed.statement('reservations.admit');
      const releases = observed.statement('reservations.release');
      // Those of earlier tests.
      await node.reservations.releaseUnknown();
      const released = releases.done;
      admissions.fail(when);
      await assert.rejects(node.reservations.admit(requestOf(id, `${id}_lost`, 5n)));
      admissions.recover();
      await releases.completed(released + 1);
      assert.deepEqual(await readBalance(stored.database, id), {
        balanceNano: 1_000n,
        reservedNano: 0n,
        spentNano: 0n,
      });
    });

    it(`charges once if the connection broke ${when} the database had ended the call, and it is ended again`, async () => {
      const id = await account();
      await node.reservations.admit(requestOf(id, `${id}_call`, 50n));
      const ends = observed.statement('settlement.end');
      ends.fail(when);
      await assert.rejects(node.end(outcomeOf(id, `${id}_call`, 40n)));
      ends.recover();
      await node.end(outcomeOf(id, `${id}_call`, 40n));
      assert.deepEqual(await readBalance(stored.database, id), {
        balanceNano: 960n,
        reservedNano: 0n,
        spentNano: 40n,
      });
    });
  }

  it('retries releasing the reservation of a failed admission until the database is back', async () => {
    const id = await account();
    const admissions = observed.statement('reservations.admit');
    const releases = observed.statement('reservations.release');
    const asked = releases.asked;
    const done = releases.done;
    releases.fail('before');
    admissions.fail('after');
    await assert.rejects(node.reservations.admit(requestOf(id, `${id}_lost`, 5n)));
    admissions.recover();
    await releases.reached(asked + 2);
    releases.recover();
    await releases.completed(done + 1);
    assert.equal((await readBalance(stored.database, id)).reservedNano, 0n);
  });

  it('resolves a drain once everything that was submitted has been stored', async () => {
    const id = await account();
    await node.reservations.admit(requestOf(id, `${id}_call`, 50n));
    const end = node.end(outcomeOf(id, `${id}_call`, 7n));
    await node.drain();
    assert.equal((await readBalance(stored.database, id)).balanceNano, 993n);
    await end;
  });

  it('batches ends too, and fails only the one whose data the database refuses', async () => {
    const id = await account();
    const names = Array.from({ length: 20 }, (_, i) => `${id}_${i}`);
    await Promise.all(names.map((name) => node.reservations.admit(requestOf(id, name, 1n))));
    const ends = observed.statement('settlement.end');
    const asked = ends.asked;
    ends.hold();
    const first = node.end(outcomeOf(id, names[0]!, 1n));
    await ends.reached(asked + 1);
    const others = names.slice(1).map((name, i) => node.end(outcomeOf(id, name, i === 7 ? 2n ** 64n : 1n)));
    ends.release();
    const results = await Promise.allSettled([first, ...others]);
    // One for the first, one for the other nineteen, and then one for each of the nineteen alone.
    assert.equal(ends.asked, asked + 21);
    assert.deepEqual(
      results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : [])),
      [8],
    );
    await node.end(outcomeOf(id, names[8]!, null));
    assert.deepEqual(await readBalance(stored.database, id), { balanceNano: 981n, reservedNano: 0n, spentNano: 19n });
  });
});

describe('admissions that the database cannot keep up with', () => {
  it('are refused at once when their queue is full, and leave nothing reserved', async () => {
    const stored = await createTestDatabase();
    try {
      const observed = observeDatabase(stored.database);
      const node = createTestNode(observed.database, { waitingItemsMax: 2 });
      await openAccount(stored.database, 'acct', 10n);
      const control = observed.statement('reservations.admit');
      control.hold();
      const first = node.reservations.admit(requestOf('acct', 'call_1', 1n));
      await control.reached(1);
      const others = [2, 3].map((n) => node.reservations.admit(requestOf('acct', `call_${n}`, 1n)));
      await assert.rejects(node.reservations.admit(requestOf('acct', 'call_4', 1n)), { kind: 'databaseDown' });
      control.release();
      for (const { isAdmitted } of await Promise.all([first, ...others])) assert.ok(isAdmitted);
      assert.equal((await readBalance(stored.database, 'acct')).reservedNano, 3n);
      // The refused call was never sent to the database, so there is nothing to release.
      assert.equal(observed.statement('reservations.release').asked, 0);
      await node.drain();
    } finally {
      await stored.remove();
    }
  });

  it('are limited in number while the database may have them, and all of them are released', async () => {
    const stored = await createTestDatabase();
    try {
      const observed = observeDatabase(stored.database);
      const remembered: unknown[] = [];
      const node = createTestNode(observed.database, {
        waitingItemsMax: 2,
        logger: { ...silentLogger, warn: (details) => remembered.push('calls' in details && details.calls) },
      });
      await openAccount(stored.database, 'acct', 10n);
      const admissions = observed.statement('reservations.admit');
      const releases = observed.statement('reservations.release');
      admissions.fail('after');
      releases.fail('before');
      for (const call of ['one', 'two', 'three']) {
        await assert.rejects(node.reservations.admit(requestOf('acct', call, 1n)), { kind: 'databaseDown' });
      }
      await releases.reached(releases.asked + 2);
      assert.equal(remembered.at(-1), 2);
      assert.equal((await readBalance(stored.database, 'acct')).reservedNano, 3n);
      releases.recover();
      await releases.completed(2);
      assert.equal((await readBalance(stored.database, 'acct')).reservedNano, 0n);
      await node.drain();
    } finally {
      await stored.remove();
    }
  });
});
