import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import type { Admission } from '../../src/accounting/reservations/reservation.ts';
import type { Database } from '../../src/db/database.ts';
import { isDataError } from '../../src/db/errors.ts';
import {
  CONTEXT,
  createTestNode,
  endCalls,
  NOW_MS,
  openAccount,
  outcomeOf,
  readBalance,
  requestOf,
  type TestNode,
  TIME,
  termsOf,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { waitingForLocks } from '../support/locks.ts';

/** If only reservations use up the balance, the end of a call may allow further ones. */
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

describe(`admissions and ends in the database`, () => {
  let stored: TestDatabase;
  let database: Database;
  let reservations: TestNode['stores']['reservations'];
  let settlement: TestNode['stores']['settlement'];
  let accounts = 0;

  before(async () => {
    stored = await createTestDatabase();
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
    const id = `acct_${++accounts}`;
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
              callId: `call_${++calls}`,
            }));
            const expected = batch.map(({ wallet, amount }): Admission => {
              const state = reference[wallet]!;
              if (state.balance - state.reserved <= 0n) return noMoney(state.balance > 0n);
              if (state.cap !== null && state.spent + state.reserved >= state.cap) {
                return capReached(state.spent < state.cap);
              }
              state.reserved += amount;
              const remaining = { availableNano: state.balance - state.reserved };
              return { isAdmitted: true, remaining, rates: null, budgets: [], priceFactorBasisPoints: 10_000, side: 0 };
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
    const requests = [requestOf('acct_nowhere', `call_x`, 1n), requestOf(id, `call_y`, 1n)];
    assert.deepEqual(await verdictsOn(reservations, requests), ['invalidApiKey', 'admitted']);
    await reservations.release(requests, TIME);
  });

  it('charge a call once, however often its end is stored', async () => {
    const id = await account(100n);
    const callId = `call_twice`;
    await verdictsOn(reservations, [requestOf(id, callId, 30n)]);
    await endCalls(settlement, [outcomeOf(id, callId, 20n)]);
    await endCalls(settlement, [outcomeOf(id, callId, 20n)]);
    await endCalls(settlement, [outcomeOf(id, callId, null)]);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, reservedNano: 0n, spentNano: 20n });
  });

  it('end a call once that a batch has twice, and report both', async () => {
    const [id, other] = [await account(100n), await account(100n)];
    for (const [name, first, second] of [
      ['charged', 20n, 20n],
      ['failed', null, null],
      ['differs', 20n, null],
    ] as const) {
      const requests = [requestOf(id, `call_doubled_${name}`, 30n), requestOf(other, `call_single_${name}`, 30n)];
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
    const request = requestOf(id, `call_late`, 30n);
    await verdictsOn(reservations, [request]);
    await reservations.release([request], TIME);
    await endCalls(settlement, [outcomeOf(id, request.callId, 20n)]);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, reservedNano: 0n, spentNano: 20n });
  });

  it('release reservations once, and none that does not exist', async () => {
    const id = await account(100n);
    const request = requestOf(id, `call_release`, 30n);
    await verdictsOn(reservations, [request]);
    await reservations.release([request, requestOf(id, 'call_never', 5n)], TIME);
    await reservations.release([request], TIME);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
  });

  it('number the entries of a batch in order, carry the balance through them, and recognize a repeated end', async () => {
    const id = await account(100n);
    const calls = [1, 2, 3].map((n) => `call_chain${n}`);
    await verdictsOn(
      reservations,
      calls.map((callId) => requestOf(id, callId, 10n)),
    );
    const [first, second, third] = calls as [string, string, string];
    await endCalls(settlement, [outcomeOf(id, first, 0n)]);
    await endCalls(settlement, [outcomeOf(id, second, 1n), outcomeOf(id, first, 50n), outcomeOf(id, third, 2n)]);
    const { items: entries } = await createLedgerStore(database).listEntries(id, null, 10);
    assert.deepEqual(
      entries.map(({ entryNo, amountNano, balanceAfterNano, callId }) => [
        entryNo,
        amountNano,
        balanceAfterNano,
        callId,
      ]),
      [
        [4n, -2n, 97n, third],
        [3n, -1n, 99n, second],
        [2n, 0n, 100n, first],
        [1n, 100n, 100n, null],
      ],
    );
  });

  it('do nothing for an empty batch', async () => {
    assert.deepEqual(await reservations.admit([], termsOf(CONTEXT)), []);
    assert.deepEqual(await settlement.end([], TIME), []);
    await reservations.release([], TIME);
    assert.deepEqual(await settlement.resolve([], TIME), []);
  });

  it('are changed by a whole batch or not at all, for all of its accounts', async () => {
    const [one, two] = [await account(100n), await account(100n)];
    await verdictsOn(reservations, [requestOf(one, 'a', 10n), requestOf(one, 'b', 0n)]);
    const before = [await readBalance(database, one), await readBalance(database, two)];
    const fine = requestOf(two, 'fine', 1n);
    for (const [what, work] of [
      ['a second reservation of one call', () => verdictsOn(reservations, [fine, requestOf(one, 'a', 1n)])],
      [
        'two reservations of one call',
        () => verdictsOn(reservations, [fine, requestOf(one, 'c', 1n), requestOf(one, 'c', 1n)]),
      ],
      ['a reservation below zero', () => verdictsOn(reservations, [fine, requestOf(one, 'c', -1n)])],
      ['a reservation beyond 64 bits', () => verdictsOn(reservations, [fine, requestOf(one, 'c', 2n ** 63n)])],
      [
        'a sum of reservations beyond 64 bits',
        () => verdictsOn(reservations, [fine, requestOf(one, 'c', 2n ** 63n - 1n)]),
      ],
      ['a zero byte', () => verdictsOn(reservations, [fine, requestOf(one, 'c\0', 1n)])],
      [
        'a charge beyond 64 bits',
        () => endCalls(settlement, [outcomeOf(two, 'fine', 1n), outcomeOf(one, 'a', 2n ** 64n)]),
      ],
      [
        'a sum of charges beyond 64 bits',
        () =>
          endCalls(settlement, [
            outcomeOf(two, 'fine', 1n),
            outcomeOf(one, 'a', 2n ** 63n - 1n),
            outcomeOf(one, 'b', 2n ** 62n),
          ]),
      ],
    ] as const) {
      await assert.rejects(
        work(),
        (error) => {
          assert.ok(isDataError(error), `${what}: ${String(error)}`);
          return true;
        },
        what,
      );
      assert.deepEqual([await readBalance(database, one), await readBalance(database, two)], before, what);
    }
    await reservations.release([requestOf(one, 'a', 0n), requestOf(one, 'b', 0n)], TIME);
  });

  it('refuse a second charge of a call and a second entry of an Idempotency-Key, whichever statement writes them', async () => {
    const id = await account(10n);
    await endCalls(settlement, [outcomeOf(id, 'a', 1n)]);
    const key = {
      accountId: id,
      kind: 'top_up',
      amountNano: 1n,
      memo: null,
      idempotencyKey: 'once',
      at: new Date(NOW_MS),
    } as const;
    await createLedgerStore(database).post(key);
    for (const values of [
      `4, 'charge', -1, 9, 'a', null`,
      `4, 'top_up', 1, 11, null, 'once'`,
      `3, 'top_up', 1, 11, null, null`,
    ]) {
      const sql = `insert into ledger_entries
  (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, idempotency_key, created_at)
values ('${id}', ${values}, now())`;
      await assert.rejects(database.script(sql), { code: '23505' }, values);
    }
    for (const values of [
      `0, 'top_up', 1, 11, null`,
      `4, 'gift', 1, 11, null`,
      `4, 'charge', 1, 11, null`,
      `4, 'top_up', 1, 11, 'a'`,
    ]) {
      const sql = `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
values ('${id}', ${values}, now())`;
      await assert.rejects(database.script(sql), isDataError, values);
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

describe('two nodes on one PostgreSQL', () => {
  let stored: TestDatabase;
  let nodes: readonly Database[];
  before(async () => {
    stored = await createTestDatabase();
    nodes = [waitingForLocks(stored.database), waitingForLocks(stored.openAnother())];
  });
  after(async () => {
    await nodes[1]!.close();
    await stored.remove();
  });

  it('admit and end racing batches of the same accounts without deadlock and to the nano-yuan', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `acct_race_${String(i).padStart(2, '0')}`);
    for (const id of ids) await openAccount(stored.database, id, 1_000n);
    const admitted = new Map(ids.map((id) => [id, 0n]));
    await Promise.all(
      nodes.map(async (database, node) => {
        const { reservations, settlement } = createTestNode(database).stores;
        for (let round = 0; round < 40; round++) {
          // The second node takes the accounts in the other order, which would deadlock without ordered locks.
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
      // 160 calls of 10 were requested on 1,000, so a hundred fit, and never one more.
      assert.equal(admitted.get(id), 100n);
    }
    assert.deepEqual(await breaches(stored.database), []);
  });
});

describe('the ledger of an account', () => {
  it('makes one entry of requests with one idempotency key that race each other', async () => {
    const stored = await createTestDatabase();
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
