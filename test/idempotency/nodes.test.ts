import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { type ClaimVerdict, createStoredResponseStore } from '../../src/accounting/repeats/stored-response-store.ts';
import type { Database } from '../../src/db/database.ts';
import { NOW_MS, openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { locksAwaited } from '../support/locks.ts';
import { partitionsOfFile, propertyRuns } from '../support/scope.ts';
import { ACCOUNT, createNode, type Fate, type Result } from './node.ts';

/** Repeats that race on two nodes: one call, one charge, one response. */

describe('claims of two nodes', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let far: Database;
  before(async () => {
    stored = await createTestDatabase(partitionsOfFile);
    far = stored.openAnother();
    await openAccount(stored.database, ACCOUNT, 1_000_000_000n);
  });
  after(async () => {
    await far.close();
    await stored.remove();
  });

  async function countCharges(): Promise<number> {
    const [row] = await stored.database.query<{ n: number }>({
      name: 'test.count-charges',
      text: `select count(*)::int as n from ledger_entries where kind = 'charge'`,
    });
    return row!.n;
  }

  const request = (claim: string, key: string, fingerprint: string) => ({
    accountId: ACCOUNT,
    keyId: 'key_1',
    idempotencyKey: key,
    fingerprint,
    callId: claim,
  });
  const termsAt = (nowMs: number) => ({ nowMs, claimedForMs: 60_000, keptForMs: 3_600_000 });

  for (const { name, fingerprint } of [
    { name: 'free', fingerprint: null },
    { name: 'left by a dead node, for another request', fingerprint: 'old' },
  ]) {
    it(`a key that was ${name} and is claimed twice at once goes to one; the other is not refused as another request`, async () => {
      const key = `twice-${fingerprint}`;
      const stores = [createStoredResponseStore(stored.database), createStoredResponseStore(far)];
      if (fingerprint !== null) await stores[0]!.claim([request(`${key}-0`, key, fingerprint)], termsAt(NOW_MS));
      const nowMs = NOW_MS + 60_000;
      let verdicts: Promise<ClaimVerdict[][]> | undefined;
      // Both have taken their snapshot of the table before the first of them may write.
      await stored.database.transaction(async (transaction) => {
        await transaction.query({ name: 'test.lock-kept', text: 'lock table stored_responses in share mode' });
        verdicts = Promise.all(
          stores.map((store, n) => store.claim([request(`${key}-new-${n}`, key, 'new')], termsAt(nowMs))),
        );
        await locksAwaited(stored.database, 2);
      });
      const states = (await verdicts!).flat().sort();
      assert.equal(states[0], 'claimed');
      assert.ok(states[1] === 'contended' || states[1] === 'running', states[1]);
      assert.deepEqual(await stores[0]!.claim([request(`${key}-other`, key, 'other')], termsAt(nowMs)), [
        'other_request',
      ]);
    });
  }

  it('another request is refused at once while the first one runs on the other node', async () => {
    const nodes = [createNode(stored.database), createNode(far)];
    const first = await nodes[0]!.claim('elsewhere');
    assert.equal(first.state, 'claimed');
    assert.deepEqual(await nodes[1]!.claim('elsewhere', 'other'), { state: 'other_request' });
    if (first.state === 'claimed') first.claim.close();
    await nodes[0]!.storedResponses.drain();
  });

  for (const name of ['renew', 'free', 'forgetExpired'] as const) {
    it(`${name} and a claim of the same keys do not deadlock`, async () => {
      const [one, two] = [createStoredResponseStore(stored.database), createStoredResponseStore(far)];
      const [first, second, third] = ['a', 'b', 'c'].map((key) => request(`${name}-${key}`, `${name}-${key}`, 'same'));
      // They expire in this order, too.
      const inDisorder = [second!, third!, first!];
      for (const [i, each] of inDisorder.entries()) await one.claim([each], termsAt(NOW_MS - 7_200_000 + i));
      const again = [first!, second!].map((each) => ({ ...each, callId: `${each.callId}-again` }));
      const work = {
        renew: () => one.renew(inDisorder, termsAt(NOW_MS)),
        free: () => one.free(inDisorder),
        forgetExpired: () => one.forgetExpired(NOW_MS + 40 * 86_400_000),
      };
      let both: Promise<unknown> | undefined;
      // A transaction in its own order has locked the second row by now, waits for the third and then needs the first.
      await stored.database.transaction(async (transaction) => {
        await transaction.query(
          { name: 'test.lock-key', text: 'select from stored_responses where idempotency_key = $1 for update' },
          [third!.idempotencyKey],
        );
        const working = work[name]();
        await (name === 'forgetExpired' ? working : locksAwaited(stored.database, 1));
        const claiming = two.claim(again, termsAt(NOW_MS - 7_200_000));
        await (name === 'forgetExpired' ? claiming : locksAwaited(stored.database, 2));
        both = Promise.all([working, claiming]);
      });
      await both;
    });
  }

  it('of any number of racing repeats with any outcomes, at most one is charged and all others get its response', async () => {
    const nodes = [createNode(stored.database), createNode(far)];
    const fates = fc.constantFrom<Fate>('succeeded', 'outcome unknown', 'refused', 'not settled');
    const repeats = fc.array(fc.record({ node: fc.nat(1), key: fc.nat(1), turns: fc.nat(3) }), {
      minLength: 2,
      maxLength: 12,
    });
    let scene = 0;
    await fc.assert(
      fc.asyncProperty(repeats, fc.array(fates, { maxLength: 5 }), async (sent, fatesInOrder) => {
        scene++;
        const before = await countCharges();
        /** By key: the outcomes of its runs, in order; the last one that is needed succeeds. */
        const runs: { fate: Fate; isPending: boolean }[][] = [[], []];
        const results: (Result & { key: number })[] = await Promise.all(
          sent.map(async ({ node, key, turns }) => {
            for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
            const result = await nodes[node]!.run(`race-${scene}-${key}`, async () => {
              const ofKey = runs[key]!;
              assert.ok(!ofKey.some(({ isPending }) => isPending), 'two calls of one key were pending');
              const run = { fate: fatesInOrder[ofKey.length] ?? 'succeeded', isPending: true };
              ofKey.push(run);
              for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
              run.isPending = false;
              return run.fate;
            });
            return { ...result, key };
          }),
        );
        let charges = 0;
        for (const key of [0, 1]) {
          const keptAt = runs[key]!.findIndex(({ fate }) => fate === 'succeeded' || fate === 'outcome unknown');
          // After an outcome that is stored, nothing runs.
          if (keptAt !== -1) assert.equal(keptAt, runs[key]!.length - 1);
          if (keptAt !== -1 && runs[key]![keptAt]!.fate === 'succeeded') charges++;
          const ofKey = results.filter((one) => one.key === key);
          const ran = ofKey.flatMap((one) => ('run' in one ? [one] : []));
          assert.equal(ran.length, runs[key]!.length);
          const kept = ran.filter(({ fate }) => fate === 'succeeded' || fate === 'outcome unknown');
          const repeated = ofKey.flatMap((one) => ('kept' in one ? [one.kept] : []));
          assert.deepEqual(repeated, Array(ofKey.length - ran.length).fill(`run ${kept[0]?.run}`));
        }
        assert.equal((await countCharges()) - before, charges);
      }),
      { numRuns: propertyRuns(40) },
    );
    for (const { storedResponses, batches } of nodes) {
      await storedResponses.drain();
      assert.equal(storedResponses.size, 0);
      for (const batch of batches) assert.equal(new Set(batch).size, batch.length);
    }
  });
});
