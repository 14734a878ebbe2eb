import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import type { Database } from '../../src/db/database.ts';
import { isDataError } from '../../src/db/errors.ts';
import { inOneDatabase } from '../../src/db/home-lanes.ts';
import {
  CONTEXT,
  createTestNode,
  endCalls,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsOf,
  readBalance,
  requestOf,
  type TestNode,
  TIME,
  TODAY,
  termsOf,
  timeOf,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, gatewayEngines, type TestDatabase } from '../support/database.ts';

/** Lives of accounts, one line an operation: what was asked, what came of it, and what the database says after it. */
const transcripts: Readonly<Record<string, string>> = {
  'an account without a cap': `
    operation  call  amount  verdict                    balance  reserved  spent
    add        -        100  -                              100         0      0
    reserve    a         60  admitted                       100        60      0
    reserve    b         60  admitted                       100       120      0
    reserve    c          1  insufficientBalance            100       120      0
    settle     a         70  -                               30        60     70
    reserve    d          5  insufficientBalance             30        60     70
    free       b          -  -                               30         0     70
    reserve    e         80  admitted                        30        80     70
    reserve    f          0  insufficientBalance             30        80     70
    settle     e         25  -                                5         0     95
    reserve    g          0  admitted                         5         0     95
    reserve    h          9  admitted                         5         9     95
    settle     g          0  -                                5         9     95
    settle     h         60  -                              -55         0    155
    reserve    i          1  insufficientBalance            -55         0    155
    add        -         55  -                                0         0    155
    reserve    i          1  insufficientBalance              0         0    155
    add        -          1  -                                1         0    155
    reserve    i          1  admitted                         1         1    155
    release    i          -  -                                1         0    155
    settle     i          1  -                                0         0    156
    settle     i          1  -                                0         0    156
    free       i          -  -                                0         0    156
  `,
  'an account with a cap of 50 a day': `
    operation  call  amount  verdict                    balance  reserved  spent
    cap        -         50  -                                0         0      0
    reserve    a          1  insufficientBalance              0         0      0
    add        -        900  -                              900         0      0
    reserve    a         40  admitted                       900        40      0
    reserve    b         40  admitted                       900        80      0
    reserve    c          0  balanceDailyLimitExceeded      900        80      0
    free       b          -  -                              900        40      0
    settle     a         49  -                              851         0     49
    reserve    d         30  admitted                       851        30     49
    reserve    e          1  balanceDailyLimitExceeded      851        30     49
    settle     d          1  -                              850         0     50
    reserve    e          1  balanceDailyLimitExceeded      850         0     50
    cap        -         60  -                              850         0     50
    reserve    e         20  admitted                       850        20     50
    day        -          1  -                              850        20      0
    reserve    f         39  admitted                       850        59      0
    reserve    g          1  admitted                       850        60      0
    reserve    h          1  balanceDailyLimitExceeded      850        60      0
    settle     e          5  -                              845        40      5
    settle     f          5  -                              840         1     10
    settle     g          5  -                              835         0     15
    cap        -          0  -                              835         0     15
    reserve    i          0  balanceDailyLimitExceeded      835         0     15
    cap        -       none  -                              835         0     15
    reserve    i          0  admitted                       835         0     15
    settle     i        900  -                              -65         0    915
  `,
};

for (const engine of gatewayEngines) {
  describe(`accounts in the database on ${engine}`, { timeout: 60_000 }, () => {
    let stored: TestDatabase;
    let database: Database;
    let stores: TestNode['stores'];
    let accounts = 0;

    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      stores = createTestNode(database).stores;
    });
    after(async () => {
      try {
        const results = await auditLedger(inOneDatabase(database));
        assert.deepEqual(
          results.flatMap(({ breaches }) => breaches),
          [],
        );
      } finally {
        await stored.remove();
      }
    });

    async function account(balanceNano = 0n): Promise<string> {
      const id = `acct_${accounts++}`;
      await openAccount(database, id, balanceNano);
      return id;
    }

    for (const [name, transcript] of Object.entries(transcripts)) {
      it(`say line by line what becomes of ${name}`, async () => {
        const id = await account();
        const ledger = createLedgerStore(database);
        let today = TODAY;
        let charges = 0;
        const [, ...lines] = transcript.trim().split('\n');
        for (const line of lines) {
          const words = line.trim().split(/\s+/) as [string, string, string, string, string, string, string];
          const [operation, callId, amount, verdict, balance, reserved, spent] = words;
          const amountNano = /^\d+$/.test(amount) ? BigInt(amount) : null;
          switch (operation) {
            case 'reserve':
              assert.deepEqual(
                await verdictsOn(stores.reservations, [requestOf(id, callId, amountNano!)], {
                  ...CONTEXT,
                  ...periodsOf(today),
                }),
                [verdict],
                line,
              );
              break;
            case 'settle':
            case 'free':
              await endCalls(stores.settlement, [outcomeOf(id, callId, amountNano)], today);
              break;
            case 'release':
              await stores.reservations.release([{ accountId: id, callId }], timeOf(today));
              break;
            case 'add': {
              const at = new Date(NOW_MS);
              await ledger.post({
                accountId: id,
                kind: 'top_up',
                amountNano: amountNano!,
                memo: null,
                idempotencyKey: null,
                at,
              });
              break;
            }
            case 'cap':
              await ledger.setTerms(id, { dailyCapNano: amountNano });
              break;
            case 'day':
              today = '2026-11-21';
              break;
            default:
              assert.fail(line);
          }
          const state = (await ledger.findBalances([id], periodsOf(today))).get(id)!;
          assert.deepEqual(
            [state.balanceNano, state.reservedNano, state.spentTodayNano].map(String),
            [balance, reserved, spent],
            line,
          );
          if (operation === 'settle') charges++;
        }
        const { items: entries } = await ledger.listEntries(id, null, 100);
        const charged = new Set(entries.filter(({ kind }) => kind === 'charge').map(({ callId }) => callId));
        assert.ok(charged.size > 0 && charged.size <= charges);
        assert.equal(charged.size, entries.filter(({ kind }) => kind === 'charge').length);
      });
    }

    it('take an empty batch for nothing to do', async () => {
      assert.deepEqual(await stores.reservations.admit([], termsOf(CONTEXT)), []);
      assert.deepEqual(await stores.settlement.end([], TIME), []);
      await stores.reservations.release([], TIME);
      assert.deepEqual(await stores.settlement.resolve([], TIME), []);
    });

    it('are changed by a whole batch or not at all, for all of its accounts', async () => {
      const { reservations, settlement } = stores;
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

    it('know a repeated end from a new one in the same batch, and keep the first charge of a call', async () => {
      const id = await account(100n);
      const { reservations, settlement } = stores;
      await verdictsOn(
        reservations,
        ['a', 'b', 'c'].map((callId) => requestOf(id, callId, 10n)),
      );
      await endCalls(settlement, [outcomeOf(id, 'a', 1n)]);
      await endCalls(settlement, [outcomeOf(id, 'b', 2n), outcomeOf(id, 'a', 50n), outcomeOf(id, 'c', 4n)]);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 93n, reservedNano: 0n, spentNano: 7n });
      const { items: entries } = await createLedgerStore(database).listEntries(id, null, 10);
      assert.deepEqual(
        entries.map(({ entryNo, callId, balanceAfterNano }) => [entryNo, callId, balanceAfterNano]),
        [
          [4n, 'c', 93n],
          [3n, 'b', 97n],
          [2n, 'a', 99n],
          [1n, null, 100n],
        ],
      );
    });

    it('refuse a second charge of a call and a second entry of an Idempotency-Key, whichever statement writes them', async () => {
      const id = await account(10n);
      await endCalls(stores.settlement, [outcomeOf(id, 'a', 1n)]);
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
  });
}
