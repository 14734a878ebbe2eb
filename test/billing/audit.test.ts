import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type AuditedDatabases,
  type AuditOptions,
  type AuditProgress,
  auditLedger,
} from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import {
  CONTEXT,
  createTestNode,
  endCalls,
  NOW_MS,
  openAccount,
  outcomeOf,
  requestOf,
  type TestNode,
  termsOf,
} from '../support/accounting-builders.ts';
import { aroundStatements } from '../support/audit-statements.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';

/** An audit reads ranges of accounts. Its findings must not depend on where ranges end, nor on calls that run meanwhile. */

/** `acct_c` has no entries. `acct_d` and `acct_z`, which have no balance either, get some from damages. */
const ACCOUNTS = ['acct_a', 'acct_b', 'acct_c', 'acct_e'];
const CALLS = 7;

/** Damages to the ledger, and the findings of each. */
const DAMAGES: readonly { readonly name: string; readonly sql: string; readonly found: readonly string[] }[] = [
  {
    name: 'a balance',
    sql: 'update balances set balance_nano = balance_nano + 1',
    found: ['acct_a', 'acct_b', 'acct_c', 'acct_e'].flatMap((account) => [`${account} balance-sum`]),
  },
  {
    name: 'a number of a balance',
    sql: `update balances set last_entry_no = last_entry_no + 1 where account_id in ('acct_b', 'acct_c')`,
    found: ['acct_b last-entry', 'acct_c last-entry'],
  },
  {
    name: 'a reserved sum',
    sql: `update balances set reserved_nano = 3 where account_id = 'acct_e'`,
    found: ['acct_e reserved-sum'],
  },
  {
    name: 'entries that are gone from the middle of a ledger',
    sql: `delete from ledger_entries where account_id = 'acct_b' and entry_no = 4`,
    // After the gap every number is one too high, and one balance does not follow from the previous one.
    found: [
      'acct_b account-spending the account counts 21 spent in the day since 2026-11-19T16:00:00.000Z, records 19',
      'acct_b balance-sum',
      ...[5, 6, 7, 8].map((no) => `acct_b entry-chain entry ${no}`),
      'acct_b settled-calls call call_2',
    ],
  },
  {
    name: 'an amount',
    sql: `update ledger_entries set amount_nano = amount_nano - 1 where account_id = 'acct_e' and entry_no = 3`,
    found: [
      'acct_e account-spending the account counts 21 spent in the day since 2026-11-19T16:00:00.000Z, records 22',
      'acct_e balance-sum',
      'acct_e entry-chain entry 3',
      'acct_e settled-calls call call_1',
    ],
  },
  {
    name: 'the ledger of nobody',
    sql: `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
      values ('acct_d', 2, 'charge', -1, -1, 'call_x', now()), ('acct_z', 1, 'charge', -1, -2, 'call_y', now())`,
    found: [
      'acct_d charge-calls entry 2 of call call_x',
      'acct_d entry-chain entry 2',
      'acct_z charge-calls entry 1 of call call_y',
      'acct_z entry-chain entry 1',
    ],
  },
  {
    name: 'calls that are gone, the first and the last of an account',
    sql: `delete from calls where account_id = 'acct_b' and id in ('call_0', 'call_6')`,
    found: ['acct_b charge-calls entry 2 of call call_0', 'acct_b charge-calls entry 8 of call call_6'],
  },
  {
    name: 'charges of calls',
    sql: `update calls set charge_nano = charge_nano + 1 where account_id <> 'acct_e' and id in ('call_0', 'call_3', 'call_6')`,
    found: ['acct_a', 'acct_b'].flatMap((account) => [0, 3, 6].map((no) => `${account} settled-calls call call_${no}`)),
  },
  {
    name: 'a charge of an unresolved call, and of one on a plan, and what an ended call would have reserved',
    sql: `update calls set status = case id when 'call_2' then 'unresolved' else status end,
        context = case id when 'call_0' then 'coding' else context end,
        reserved_nano = case id when 'call_3' then 5 else reserved_nano end
      where account_id = 'acct_e'`,
    found: [
      'acct_e coding-charges call call_0',
      'acct_e unresolved-charges call call_2',
      'acct_e unresolved-charges call call_3',
    ],
  },
  {
    name: 'the price list',
    sql: 'delete from price_lists',
    found: ['acct_a', 'acct_b', 'acct_e'].flatMap((account) =>
      Array.from({ length: CALLS }, (_, no) => `${account} recorded-prices call call_${no}`),
    ),
  },
  {
    name: 'a reservation of a call that has ended',
    sql: `insert into reservations (account_id, call_id, key_id, model, node_id, reserved_at, facts, amount_nano)
      values ('acct_b', 'call_6', 'key_test', 'test', 'node_test', now(), '[]', 0),
        ('acct_z', 'call_1', 'key_test', 'test', 'node_test', now(), '[]', 0)`,
    found: ['acct_b ended-reservations call call_6'],
  },
  {
    name: 'a refund above its charge, and one of no call',
    sql: `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
      values ('acct_d', 1, 'refund', 1, 1, 'call_0', now()), ('acct_z', 1, 'refund', 1, 1, 'call_x', now())`,
    found: ['acct_d refunds call call_0 refunded 1, charge 0', 'acct_z refunds call call_x refunded 1, charge 0'],
  },
];

/** The changes that are made between the statements of an audit. */
const CHANGES_MAX = 25;

/** Their details have sums, which the tests leave out. */
const WITHOUT_DETAIL = ['balance-sum', 'last-entry', 'reserved-sum'];

const NAMES: Readonly<Record<string, string>> = {
  'the balance is the sum of the ledger entries': 'balance-sum',
  'reserved money is the sum of the open reservations': 'reserved-sum',
  'ledger entries are numbered without gaps, and each continues from the balance of the entry before it': 'entry-chain',
  'the last entry number of every balance matches the ledger': 'last-entry',
  'accounts correctly count their charges of the current day': 'account-spending',
  'every settled call has a ledger entry with its charge': 'settled-calls',
  'every charge belongs to a call': 'charge-calls',
  'unresolved calls have no charge, resolved calls are charged at most their reserved amount, and all other records have no reserved amount':
    'unresolved-charges',
  'every refund belongs to a charged call of the same account, and refunds never exceed its charge': 'refunds',
  'the price list of every call record is stored': 'recorded-prices',
  'a coding call has no charge': 'coding-charges',
  'an ended call has no reservation': 'ended-reservations',
};

const SIZES: readonly AuditOptions[] = [
  {},
  { accountsMax: 1 },
  { accountsMax: 3 },
  { entriesMax: 1 },
  { entriesMax: 9 },
];

describe(`the audit by ranges of accounts`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let node: TestNode;
  let ended = CALLS;

  before(async () => {
    stored = await createTestDatabase();
    node = createTestNode(stored.database);
    for (const account of ACCOUNTS) await openAccount(stored.database, account, account === 'acct_c' ? 0n : 1_000n);
    for (const account of ['acct_a', 'acct_b', 'acct_e']) {
      for (let no = 0; no < CALLS; no++) await admitAndEnd(account, `call_${no}`, BigInt(no));
    }
    // `restore` undoes each damage from these; the trigger would refuse it.
    await stored.database.script(`
        alter table ledger_entries disable trigger user;
        create schema backup;
        ${['balances', 'ledger_entries', 'calls', 'price_lists', 'reservations']
          .map((table) => `create table backup.${table} as select * from ${table};`)
          .join('\n')}`);
  });
  after(() => stored.remove());

  const restore = () =>
    stored.database.script(
      ['balances', 'ledger_entries', 'calls', 'price_lists', 'reservations']
        .map((table) => `delete from ${table}; insert into ${table} select * from backup.${table};`)
        .join('\n'),
    );

  async function admitAndEnd(account: string, id: string, chargeNano: bigint): Promise<void> {
    await node.stores.reservations.admit([requestOf(account, id, 50n)], termsOf(CONTEXT));
    await endCalls(node.stores.settlement, [outcomeOf(account, id, chargeNano)]);
  }

  async function findings(
    options: AuditOptions,
    databases: AuditedDatabases = inOneDatabase(stored.database),
  ): Promise<string[]> {
    const results = await auditLedger(databases, options);
    return results
      .flatMap(({ invariant, breaches }) =>
        breaches.map(({ accountId, detail }) => {
          const name = NAMES[invariant] ?? invariant;
          return `${accountId} ${name}${WITHOUT_DETAIL.includes(name) ? '' : ` ${detail}`}`;
        }),
      )
      .sort();
  }

  it('finds nothing in a consistent ledger, and reports how much it has read', async () => {
    for (const options of SIZES) {
      const seen: AuditProgress[] = [];
      assert.deepEqual(await findings({ ...options, onProgress: (progress) => seen.push(progress) }), []);
      assert.deepEqual(seen.at(-1), { accounts: 4, accountsTotal: 4, entries: 3 + 3 * CALLS, calls: 3 * CALLS });
    }
  });

  for (const { name, sql, found } of DAMAGES) {
    it(`finds the same in ranges of any size: ${name}`, async () => {
      await stored.database.script(sql);
      try {
        for (const options of SIZES) {
          assert.deepEqual(await findings(options), [...found].sort(), JSON.stringify(options));
        }
      } finally {
        await restore();
      }
    });
  }

  it('reports no violation for calls that are admitted or end between two statements, nor for top-ups', async () => {
    const ledger = createLedgerStore(stored.database);
    for (const options of [{}, { accountsMax: 1 }, { accountsMax: 3 }]) {
      let statements = 0;
      const databases = aroundStatements(inOneDatabase(stored.database), async (_, run) => {
        if (statements >= CHANGES_MAX) return run();
        const account = ['acct_a', 'acct_b', 'acct_c', 'acct_e'][statements++ % 4]!;
        // Ids before those of earlier calls, after them, and among them.
        const id = `call_${statements % 9}_${ended++}`;
        await ledger.post({
          accountId: account,
          kind: 'top_up',
          amountNano: 100n,
          memo: null,
          idempotencyKey: null,
          at: new Date(NOW_MS),
        });
        await node.stores.reservations.admit([requestOf(account, id, 50n)], termsOf(CONTEXT));
        if (statements % 3 === 0) return run();
        const result = await run();
        await endCalls(node.stores.settlement, [outcomeOf(account, id, 7n)]);
        return result;
      });
      assert.deepEqual(await findings(options, databases), [], JSON.stringify(options));
    }
    assert.deepEqual(await findings({}), []);
  });

  it('stops after a statement, without an open transaction, when its client leaves', async () => {
    const unwanted = new AbortController();
    const statements: string[] = [];
    const databases = aroundStatements(inOneDatabase(stored.database), ({ name }, run) => {
      if (name === 'audit.ledgers') unwanted.abort(new Error('the client has left'));
      statements.push(name);
      return run();
    });
    await assert.rejects(findings({ signal: unwanted.signal }, databases), /the client has left/);
    assert.deepEqual(statements.slice(-2), ['audit.ledgers', 'audit.roll-back']);
    assert.deepEqual(await findings({}), []);
  });
});
