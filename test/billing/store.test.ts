import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import type { Admission } from '../../src/accounting/reservations/reservation.ts';
import type { Database } from '../../src/db/database.ts';
import { inOneDatabase } from '../../src/db/home-lanes.ts';
import {
  CONTEXT,
  createTestNode,
  endCalls,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsAt,
  readBalance,
  recordOf,
  requestOf,
  type TestNode,
  TIME,
  termsOf,
  timeAt,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { waitingForLocks } from '../support/locks.ts';

/** Where only what is reserved is in the way, the end of a call may give room. */
const noMoney = (isOnlyReserved: boolean): Admission => ({
  isAdmitted: false,
  refusal: { kind: 'insufficientBalance', retryAt: isOnlyReserved ? 'soon' : null, isPaymentRequired: true },
  planId: null,
});
const capReached = (isOnlyReserved: boolean): Admission => ({
  isAdmitted: false,
  refusal: { kind: 'balanceDailyLimitExceeded', retryAt: isOnlyReserved ? 'soon' : CONTEXT.nextDayMs },
  planId: null,
});

async function breaches(database: Database): Promise<string[]> {
  const results = await auditLedger(inOneDatabase(database));
  return results.filter((result) => result.breaches.length > 0).map(({ invariant }) => invariant);
}

for (const engine of engines) {
  describe(`admissions and ends in the database on ${engine}`, () => {
    let stored: TestDatabase;
    let database: Database;
    let reservations: TestNode['stores']['reservations'];
    let settlement: TestNode['stores']['settlement'];
    let accounts = 0;

    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      ({ reservations, settlement } = createTestNode(database).stores);
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
            const reference = wallets.map(({ balance, cap }) => ({ balance, cap, reserved: 0n, spent: 0n }));

            for (let at = 0; at < steps.length; at += batchSize) {
              const batch = steps.slice(at, at + batchSize).map((step) => ({
                ...step,
                wallet: step.account % wallets.length,
                callId: `call_${engine}_${++calls}`,
              }));
              const expected = batch.map(({ wallet, amount }): Admission => {
                const state = reference[wallet]!;
                if (state.balance - state.reserved <= 0n) return noMoney(state.balance > 0n);
                if (state.cap !== null && state.spent + state.reserved >= state.cap) {
                  return capReached(state.spent < state.cap);
                }
                state.reserved += amount;
                const remaining = { availableNano: state.balance - state.reserved };
                return { isAdmitted: true, remaining, rates: null, budgets: [], priceFactorBasisPoints: 10_000 };
              });
              const requests = batch.map(({ wallet, callId, amount }) => requestOf(ids[wallet]!, callId, amount));
              assert.deepEqual(await reservations.admit(requests, termsOf(CONTEXT)), expected);

              const ended = batch.filter((_step, i) => expected[i]!.isAdmitted);
              const left = await endCalls(
                settlement,
                ended.map(({ wallet, callId, endsWith }) => outcomeOf(ids[wallet]!, callId, endsWith)),
              );
              for (const { wallet, amount, endsWith } of ended) {
                const state = reference[wallet]!;
                state.reserved -= amount;
                state.balance -= endsWith ?? 0n;
                state.spent += endsWith ?? 0n;
              }
              assert.deepEqual(
                left,
                ended.map(({ wallet }) => ({
                  availableNano: reference[wallet]!.balance - reference[wallet]!.reserved,
                })),
              );
              for (const [i, { balance, reserved, spent }] of reference.entries()) {
                assert.deepEqual(await readBalance(database, ids[i]!), {
                  balanceNano: balance,
                  reservedNano: reserved,
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
      const requests = [requestOf('acct_nowhere', `call_x_${engine}`, 1n), requestOf(id, `call_y_${engine}`, 1n)];
      assert.deepEqual(await verdictsOn(reservations, requests), ['invalidApiKey', 'admitted']);
      await reservations.release(requests, TIME);
    });

    it('let a call overdraw by its own cost, and refuse the next one until money comes in', async () => {
      const id = await account(1n);
      const [first, second] = [`call_o1_${engine}`, `call_o2_${engine}`];
      assert.deepEqual(await verdictsOn(reservations, [requestOf(id, first, 500n), requestOf(id, second, 1n)]), [
        'admitted',
        'insufficientBalance',
      ]);
      await endCalls(settlement, [outcomeOf(id, first, 400n)]);
      assert.equal((await readBalance(database, id)).balanceNano, -399n);
      assert.deepEqual(await verdictsOn(reservations, [requestOf(id, second, 1n)]), ['insufficientBalance']);
    });

    it('charge a call once, however often its end is stored', async () => {
      const id = await account(100n);
      const callId = `call_twice_${engine}`;
      await verdictsOn(reservations, [requestOf(id, callId, 30n)]);
      await endCalls(settlement, [outcomeOf(id, callId, 20n)]);
      await endCalls(settlement, [outcomeOf(id, callId, 20n)]);
      await endCalls(settlement, [outcomeOf(id, callId, null)]);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, reservedNano: 0n, spentNano: 20n });
    });

    it('end a call once that a batch has twice, and response for each', async () => {
      const [id, other] = [await account(100n), await account(100n)];
      for (const [name, first, second] of [
        ['charged', 20n, 20n],
        ['failed', null, null],
        ['differs', 20n, null],
      ] as const) {
        const requests = [
          requestOf(id, `call_doubled_${name}_${engine}`, 30n),
          requestOf(other, `call_single_${name}`, 30n),
        ];
        await verdictsOn(reservations, requests);
        const [doubled, single] = requests.map(({ callId }) => callId) as [string, string];
        const { balanceNano } = await readBalance(database, id);
        const left = await endCalls(settlement, [
          outcomeOf(id, doubled, first),
          outcomeOf(other, single, 0n),
          outcomeOf(id, doubled, second),
        ]);
        const availableNano = balanceNano - (first ?? 0n);
        assert.deepEqual(left, [{ availableNano }, { availableNano: 100n }, { availableNano }], name);
      }
      assert.deepEqual(await readBalance(database, id), { balanceNano: 60n, reservedNano: 0n, spentNano: 40n });
    });

    it('charge a call whose reservation has been released meanwhile, because its response was delivered', async () => {
      const id = await account(100n);
      const request = requestOf(id, `call_late_${engine}`, 30n);
      await verdictsOn(reservations, [request]);
      await reservations.release([request], TIME);
      await endCalls(settlement, [outcomeOf(id, request.callId, 20n)]);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, reservedNano: 0n, spentNano: 20n });
    });

    it('release reservations once, and none that is not there', async () => {
      const id = await account(100n);
      const request = requestOf(id, `call_release_${engine}`, 30n);
      await verdictsOn(reservations, [request]);
      await reservations.release([request, requestOf(id, 'call_never', 5n)], TIME);
      await reservations.release([request], TIME);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
    });

    it('number the entries of a batch in order and carry the balance through them', async () => {
      const id = await account(100n);
      const calls = [1, 2, 3].map((n) => `call_chain${n}_${engine}`);
      await verdictsOn(
        reservations,
        calls.map((callId) => requestOf(id, callId, 10n)),
      );
      await endCalls(
        settlement,
        calls.map((callId, i) => outcomeOf(id, callId, BigInt(i))),
      );
      const { items: entries } = await createLedgerStore(database).listEntries(id, null, 10);
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

    it('count what is spent by the day, and not back onto a day that is over if the clock goes back by a minute', async () => {
      const id = await account(100n, 30n);
      const end = async (callId: string, chargeNano: bigint, atMs: number): Promise<void> => {
        await verdictsOn(reservations, [requestOf(id, callId, 1n)], { ...CONTEXT, ...periodsAt(atMs) });
        await settlement.end([recordOf(outcomeOf(id, callId, chargeNano))], timeAt(atMs));
      };
      await end(`call_d1_${engine}`, 29n, NOW_MS);
      await end(`call_d2_${engine}`, 5n, NOW_MS);
      const next = [requestOf(id, `call_d3_${engine}`, 1n)];
      assert.deepEqual(await verdictsOn(reservations, next), ['balanceDailyLimitExceeded']);
      await end(`call_d4_${engine}`, 7n, CONTEXT.nextDayMs);
      await end(`call_d5_${engine}`, 2n, CONTEXT.nextDayMs - 60_000);
      assert.equal((await readBalance(database, id)).spentNano, 9n);
    });

    it('use the configured cap if the account has none of its own', async () => {
      const context = { ...CONTEXT, defaultDailyCapNano: 10n };
      const plain = await account(100n);
      const own = await account(100n, 50n);
      for (const id of [plain, own]) {
        await verdictsOn(reservations, [requestOf(id, `${id}_1`, 10n)], context);
        const [verdict] = await verdictsOn(reservations, [requestOf(id, `${id}_2`, 10n)], context);
        assert.equal(verdict, id === own ? 'admitted' : 'balanceDailyLimitExceeded');
        await reservations.release([requestOf(id, `${id}_1`, 10n), requestOf(id, `${id}_2`, 10n)], TIME);
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
      ['reserved money is the sum of the open reservations', 'update balances set reserved_nano = reserved_nano + 1'],
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
        'an unresolved call has no charge, a resolved one none above what it had reserved, which no other record has',
        `update calls set status = 'unresolved' where id = 'call_settled'`,
      ],
      [
        'an unresolved call has no charge, a resolved one none above what it had reserved, which no other record has',
        `update calls set reserved_nano = 5 where id = 'call_settled'`,
      ],
      ['the price list of every call record is there', 'delete from price_lists'],
      [
        'an ended call has nothing reserved',
        `insert into reservations (account_id, call_id, amount_nano, key_id, model, node_id, reserved_at, facts)
           values ('acct_audit', 'call_settled', 0, 'k', 'm', 'n', now(), '[]')`,
      ],
    ];

    for (const [invariant, sql] of planted) {
      it(`finds a breach of: ${invariant} (${sql.slice(0, 40)})`, async () => {
        const stored = await createTestDatabase(engine);
        try {
          const { database } = stored;
          const { reservations, settlement } = createTestNode(database).stores;
          await openAccount(database, 'acct_audit', 100n);
          const calls = ['call_settled', 'call_released'];
          await verdictsOn(
            reservations,
            calls.map((callId) => requestOf('acct_audit', callId, 5n)),
          );
          await endCalls(settlement, [
            outcomeOf('acct_audit', 'call_settled', 2n),
            outcomeOf('acct_audit', 'call_released', null),
          ]);
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
    nodes = [waitingForLocks(stored.database), waitingForLocks(stored.openAnother())];
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
        const { reservations, settlement } = createTestNode(database).stores;
        for (let round = 0; round < 40; round++) {
          // The second node takes the accounts in the other order, which deadlocks without the ordered lock.
          const order = node === 0 ? ids : ids.toReversed();
          const requests = order.flatMap((id, i) =>
            [0, 1].map((n) => requestOf(id, `call_${node}_${round}_${i}_${n}`, 10n)),
          );
          const verdicts = await verdictsOn(reservations, requests);
          const mine = requests.filter((_request, i) => verdicts[i] === 'admitted');
          for (const { accountId } of mine) admitted.set(accountId, admitted.get(accountId)! + 1n);
          await endCalls(
            settlement,
            mine.map(({ accountId, callId }) => outcomeOf(accountId, callId, 10n)),
          );
        }
      }),
    );
    for (const id of ids) {
      const { balanceNano, reservedNano } = await readBalance(stored.database, id);
      assert.equal(reservedNano, 0n);
      assert.equal(balanceNano, 1_000n - admitted.get(id)! * 10n);
      // 160 calls of 10 were asked for on 1,000, so a hundred fit, and never one more.
      assert.equal(admitted.get(id), 100n);
    }
    assert.deepEqual(await breaches(stored.database), []);
  });

  it('charge a call once that both of them end at the same time', async () => {
    await openAccount(stored.database, 'acct_both', 1_000n);
    const stores = nodes.map((database) => createTestNode(database).stores);
    for (let n = 0; n < 20; n++) {
      const callId = `call_both_${n}`;
      await verdictsOn(stores[0]!.reservations, [requestOf('acct_both', callId, 10n)]);
      await Promise.all(stores.map(({ settlement }) => endCalls(settlement, [outcomeOf('acct_both', callId, 7n)])));
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
