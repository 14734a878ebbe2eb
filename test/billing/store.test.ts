import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { auditLedger } from '../../src/billing/audit.ts';
import type { Admission, AdmissionVerdict, Hold } from '../../src/billing/call-outcome.ts';
import { createLedgerStore } from '../../src/billing/ledger-store.ts';
import { type BillingStore, createBillingStore } from '../../src/billing/store.ts';
import type { Database } from '../../src/db/database.ts';
import { holdOf, NOW_MS, openAccount, outcomeOf, readBalance, TERMS, TODAY, verdictsOn } from '../support/books.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';

async function breaches(database: Database): Promise<string[]> {
  const results = await auditLedger(database);
  return results.filter((result) => result.breaches.length > 0).map(({ invariant }) => invariant);
}

for (const engine of engines) {
  describe(`the coalesced statements on ${engine}`, () => {
    let stored: TestDatabase;
    let database: Database;
    let store: BillingStore;
    let accounts = 0;

    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      store = createBillingStore(database);
    });
    after(async () => {
      try {
        assert.deepEqual(await breaches(database), []);
      } finally {
        await stored.remove();
      }
    });

    const account = async (balanceNano: bigint, dailyCapNano: bigint | null = null): Promise<string> => {
      const id = `acct_${engine}_${++accounts}`;
      await openAccount(database, id, balanceNano, dailyCapNano);
      return id;
    };

    it('admit a prefix of each account’s calls, in order of arrival, as a plain loop over them would', async () => {
      let calls = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ balance: fc.bigInt(-5n, 40n), cap: fc.option(fc.bigInt(0n, 30n)) }), {
            minLength: 1,
            maxLength: 4,
          }),
          fc.array(
            fc.record({ account: fc.nat(3), amount: fc.bigInt(0n, 15n), endsWith: fc.option(fc.bigInt(0n, 20n)) }),
            {
              maxLength: 24,
            },
          ),
          fc.integer({ min: 1, max: 24 }),
          async (wallets, steps, batchSize) => {
            const ids: string[] = [];
            for (const { balance, cap } of wallets) ids.push(await account(balance, cap));
            const reference = wallets.map(({ balance, cap }) => ({ balance, cap, held: 0n, spent: 0n }));

            for (let at = 0; at < steps.length; at += batchSize) {
              const batch = steps.slice(at, at + batchSize).map((step) => ({
                ...step,
                wallet: step.account % wallets.length,
                callId: `call_${engine}_${++calls}`,
              }));
              const expected = batch.map(({ wallet, amount }): Admission => {
                const state = reference[wallet]!;
                const refused = (verdict: AdmissionVerdict): Admission => ({ verdict, availableNano: null });
                if (state.balance - state.held <= 0n) return refused('insufficient_balance');
                if (state.cap !== null && state.spent + state.held >= state.cap) return refused('daily_limit_exceeded');
                state.held += amount;
                return { verdict: 'admitted', availableNano: state.balance - state.held };
              });
              const holds = batch.map(({ wallet, callId, amount }) => holdOf(ids[wallet]!, callId, amount));
              assert.deepEqual(await store.admitHolds(holds, TERMS), expected);

              const ended = batch.filter((_step, i) => expected[i]!.verdict === 'admitted');
              const left = await store.endCalls(
                ended.map(({ wallet, callId, endsWith }) => outcomeOf(ids[wallet]!, callId, endsWith)),
                TODAY,
              );
              for (const { wallet, amount, endsWith } of ended) {
                const state = reference[wallet]!;
                state.held -= amount;
                state.balance -= endsWith ?? 0n;
                state.spent += endsWith ?? 0n;
              }
              assert.deepEqual(
                left,
                ended.map(({ wallet }) => ({ availableNano: reference[wallet]!.balance - reference[wallet]!.held })),
              );
              for (const [i, { balance, held, spent }] of reference.entries()) {
                assert.deepEqual(await readBalance(database, ids[i]!), {
                  balanceNano: balance,
                  heldNano: held,
                  spentNano: spent,
                });
              }
            }
          },
        ),
        { numRuns: 25 },
      );
    });

    it('refuse an account that does not exist, and admit the others of the batch', async () => {
      const id = await account(10n);
      const holds = [holdOf('acct_nowhere', `call_x_${engine}`, 1n), holdOf(id, `call_y_${engine}`, 1n)];
      assert.deepEqual(await verdictsOn(store, holds, TERMS), ['unknown_account', 'admitted']);
      await store.releaseHolds(holds);
    });

    it('let a call overdraw by its own cost, and refuse the next one until money comes in', async () => {
      const id = await account(1n);
      const [first, second] = [`call_o1_${engine}`, `call_o2_${engine}`];
      assert.deepEqual(await verdictsOn(store, [holdOf(id, first, 500n), holdOf(id, second, 1n)], TERMS), [
        'admitted',
        'insufficient_balance',
      ]);
      await store.endCalls([outcomeOf(id, first, 400n)], TODAY);
      assert.equal((await readBalance(database, id)).balanceNano, -399n);
      assert.deepEqual(await verdictsOn(store, [holdOf(id, second, 1n)], TERMS), ['insufficient_balance']);
    });

    it('charge a call once, however often its end is stored', async () => {
      const id = await account(100n);
      const callId = `call_twice_${engine}`;
      await store.admitHolds([holdOf(id, callId, 30n)], TERMS);
      await store.endCalls([outcomeOf(id, callId, 20n)], TODAY);
      await store.endCalls([outcomeOf(id, callId, 20n)], TODAY);
      await store.endCalls([outcomeOf(id, callId, null)], TODAY);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, heldNano: 0n, spentNano: 20n });
    });

    it('end a call once that a batch has twice, and answer for each', async () => {
      const [id, other] = [await account(100n), await account(100n)];
      for (const [name, first, second] of [
        ['charged', 20n, 20n],
        ['failed', null, null],
        ['differs', 20n, null],
      ] as const) {
        const holds = [holdOf(id, `call_doubled_${name}_${engine}`, 30n), holdOf(other, `call_single_${name}`, 30n)];
        await store.admitHolds(holds, TERMS);
        const [doubled, single] = holds as [Hold, Hold];
        const { balanceNano } = await readBalance(database, id);
        const left = await store.endCalls(
          [
            outcomeOf(id, doubled.callId, first),
            outcomeOf(other, single.callId, 0n),
            outcomeOf(id, doubled.callId, second),
          ],
          TODAY,
        );
        const availableNano = balanceNano - (first ?? 0n);
        assert.deepEqual(left, [{ availableNano }, { availableNano: 100n }, { availableNano }], name);
      }
      assert.deepEqual(await readBalance(database, id), { balanceNano: 60n, heldNano: 0n, spentNano: 40n });
    });

    it('charge a call whose hold has been resolved meanwhile, because its answer was delivered', async () => {
      const id = await account(100n);
      const hold = holdOf(id, `call_late_${engine}`, 30n);
      await store.admitHolds([hold], TERMS);
      await store.releaseHolds([hold]);
      await store.endCalls([outcomeOf(id, hold.callId, 20n)], TODAY);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, heldNano: 0n, spentNano: 20n });
    });

    it('release holds once, and none that is not there', async () => {
      const id = await account(100n);
      const hold = holdOf(id, `call_release_${engine}`, 30n);
      await store.admitHolds([hold], TERMS);
      await store.releaseHolds([hold, holdOf(id, 'call_never', 5n)]);
      await store.releaseHolds([hold]);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, heldNano: 0n, spentNano: 0n });
    });

    it('number the entries of a batch in order and carry the balance through them', async () => {
      const id = await account(100n);
      const calls = [1, 2, 3].map((n) => `call_chain${n}_${engine}`);
      await store.admitHolds(
        calls.map((callId) => holdOf(id, callId, 10n)),
        TERMS,
      );
      await store.endCalls(
        calls.map((callId, i) => outcomeOf(id, callId, BigInt(i))),
        TODAY,
      );
      const entries = await createLedgerStore(database).listEntries(id, null, 10);
      assert.deepEqual(
        entries.map(({ entryNo, amountNano, balanceAfterNano, callId }) => [
          entryNo,
          amountNano,
          balanceAfterNano,
          callId,
        ]),
        [
          [4n, -2n, 97n, calls[2]],
          [3n, -1n, 99n, calls[1]],
          [2n, 0n, 100n, calls[0]],
          [1n, 100n, 100n, null],
        ],
      );
    });

    it('count what is spent by the day, and never back onto a day that is over', async () => {
      const id = await account(100n, 30n);
      const end = async (callId: string, chargeNano: bigint, day: string): Promise<void> => {
        await store.admitHolds([holdOf(id, callId, 1n)], { ...TERMS, today: day });
        await store.endCalls([outcomeOf(id, callId, chargeNano)], day);
      };
      await end(`call_d1_${engine}`, 29n, '2026-11-20');
      await end(`call_d2_${engine}`, 5n, '2026-11-20');
      const next = [holdOf(id, `call_d3_${engine}`, 1n)];
      assert.deepEqual(await verdictsOn(store, next, { ...TERMS, today: '2026-11-20' }), ['daily_limit_exceeded']);
      await end(`call_d4_${engine}`, 7n, '2026-11-21');
      await end(`call_d5_${engine}`, 2n, '2026-11-20');
      assert.equal((await readBalance(database, id)).spentNano, 9n);
    });

    it('use the configured cap where the account has none of its own', async () => {
      const terms = { ...TERMS, defaultDailyCapNano: 10n };
      const plain = await account(100n);
      const own = await account(100n, 50n);
      for (const id of [plain, own]) {
        await store.admitHolds([holdOf(id, `${id}_1`, 10n)], terms);
        const [verdict] = await verdictsOn(store, [holdOf(id, `${id}_2`, 10n)], terms);
        assert.equal(verdict, id === own ? 'admitted' : 'daily_limit_exceeded');
        await store.releaseHolds([holdOf(id, `${id}_1`, 10n), holdOf(id, `${id}_2`, 10n)]);
      }
    });

    it('keep ledger entries from being changed, deleted or emptied', async () => {
      await account(5n);
      for (const sql of [
        'update ledger_entries set amount_nano = 0',
        'delete from ledger_entries',
        'truncate ledger_entries',
      ]) {
        await assert.rejects(database.script(sql), /never changed or deleted/);
      }
    });
  });

  describe(`the audit on ${engine}`, () => {
    const planted: readonly (readonly [string, string])[] = [
      ['the balance is the sum of the ledger entries', 'update balances set balance_nano = balance_nano + 1'],
      ['held money is the sum of the open holds', 'update balances set reserved_nano = reserved_nano + 1'],
      ['the last entry number of a balance is that of its ledger', 'update balances set last_entry_no = 9'],
      [
        'entries are numbered without gaps and carry the balance forward',
        `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
           values ('acct_audit', 7, 'adjustment', 1, 1, now())`,
      ],
      [
        'every settled call has its entry with its charge',
        `update calls set charge_nano = 3 where id = 'call_released'`,
      ],
      ['no charge without its call', `delete from calls where id = 'call_settled'`],
      [
        'an unresolved call has no charge, and what it held is recorded of no other',
        `update calls set status = 'unresolved' where id = 'call_settled'`,
      ],
      [
        'an unresolved call has no charge, and what it held is recorded of no other',
        `update calls set reserved_nano = 5 where id = 'call_settled'`,
      ],
      [
        'an ended call holds nothing',
        `insert into holds (account_id, call_id, amount_nano, key_id, model, node_id, held_at)
           values ('acct_audit', 'call_settled', 0, 'k', 'm', 'n', now())`,
      ],
    ];

    for (const [invariant, sql] of planted) {
      it(`finds a breach of: ${invariant} (${sql.slice(0, 40)})`, async () => {
        const stored = await createTestDatabase(engine);
        try {
          const { database } = stored;
          const store = createBillingStore(database);
          await openAccount(database, 'acct_audit', 100n);
          const calls = ['call_settled', 'call_released'];
          await store.admitHolds(
            calls.map((callId) => holdOf('acct_audit', callId, 5n)),
            TERMS,
          );
          await store.endCalls(
            [outcomeOf('acct_audit', 'call_settled', 2n), outcomeOf('acct_audit', 'call_released', null)],
            TODAY,
          );
          assert.deepEqual(await breaches(database), []);
          await database.script(sql);
          assert.ok((await breaches(database)).includes(invariant));
        } finally {
          await stored.remove();
        }
      });
    }
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

  it('admit and end racing batches over the same accounts without deadlock and to the nano-yuan', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `acct_race_${String(i).padStart(2, '0')}`);
    for (const id of ids) await openAccount(stored.database, id, 1_000n);
    const admitted = new Map(ids.map((id) => [id, 0n]));
    await Promise.all(
      nodes.map(async (database, node) => {
        const store = createBillingStore(database);
        for (let round = 0; round < 40; round++) {
          // The second node takes the accounts in the other order, which deadlocks without the ordered lock.
          const order = node === 0 ? ids : ids.toReversed();
          const holds = order.flatMap((id, i) => [0, 1].map((n) => holdOf(id, `call_${node}_${round}_${i}_${n}`, 10n)));
          const verdicts = await verdictsOn(store, holds, TERMS);
          const mine = holds.filter((_hold, i) => verdicts[i] === 'admitted');
          for (const { accountId } of mine) admitted.set(accountId, admitted.get(accountId)! + 1n);
          await store.endCalls(
            mine.map(({ accountId, callId }) => outcomeOf(accountId, callId, 10n)),
            TODAY,
          );
        }
      }),
    );
    for (const id of ids) {
      const { balanceNano, heldNano } = await readBalance(stored.database, id);
      assert.equal(heldNano, 0n);
      assert.equal(balanceNano, 1_000n - admitted.get(id)! * 10n);
      // 160 calls of 10 were asked for on 1,000, so a hundred fit, and never one more.
      assert.equal(admitted.get(id), 100n);
    }
    assert.deepEqual(await breaches(stored.database), []);
  });

  it('charge a call once that both of them end at the same time', async () => {
    await openAccount(stored.database, 'acct_both', 1_000n);
    const stores = nodes.map((database) => createBillingStore(database));
    for (let n = 0; n < 20; n++) {
      const callId = `call_both_${n}`;
      await stores[0]!.admitHolds([holdOf('acct_both', callId, 10n)], TERMS);
      const ends = await Promise.allSettled(
        stores.map((store) => store.endCalls([outcomeOf('acct_both', callId, 7n)], TODAY)),
      );
      assert.ok(ends.some(({ status }) => status === 'fulfilled'));
      for (const end of ends) if (end.status === 'rejected') assert.equal(end.reason.code, '23505');
    }
    assert.equal((await readBalance(stored.database, 'acct_both')).balanceNano, 1_000n - 140n);
    assert.deepEqual(await breaches(stored.database), []);
  });
});

describe('the ledger of an account', () => {
  it('makes one entry of requests with one idempotency key that race each other', async () => {
    const stored = await createTestDatabase('postgresql');
    try {
      await openAccount(stored.database, 'acct_key', 0n);
      const ledger = createLedgerStore(stored.database);
      const entry = {
        accountId: 'acct_key',
        kind: 'top_up' as const,
        amountNano: 5n,
        memo: null,
        idempotencyKey: 'once',
        at: new Date(NOW_MS),
      };
      const results = await Promise.all(Array.from({ length: 8 }, () => ledger.post(entry)));
      assert.equal(results.filter(({ outcome }) => outcome === 'posted').length, 1);
      assert.equal(results.filter(({ outcome }) => outcome === 'repeated').length, 7);
      assert.equal((await readBalance(stored.database, 'acct_key')).balanceNano, 5n);
      assert.equal((await ledger.post({ ...entry, amountNano: 6n })).outcome, 'key_conflict');
    } finally {
      await stored.remove();
    }
  });
});
