import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { NewAccount } from '../../src/accounting/accounts/account-creation-store.ts';
import { type AccountStore, createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import { CONTEXT } from '../support/accounting-builders.ts';
import { createAccountIn, createMakers } from '../support/created-accounts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { keysOn } from '../support/keys.ts';
import { locksAwaited } from '../support/locks.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { assertSound } from '../support/sound.ts';

/** An account, its balance and its first top-up are created by one transaction of the directory and a partition: all of it, or nothing. */

const AT = new Date('2026-11-20T04:00:00Z');

/** The statements of a creation, in order, each before or after the database has carried it out. */
const STATEMENTS = [
  'account-requests.insert',
  'accounts.insert-balance',
  'ledger.post-entry',
  'accounts.insert',
] as const;
const WHENS = ['before', 'after'] as const;

const account = (id: string, openingNano: bigint, keyed: NewAccount['keyed'] = null) =>
  ({ id, name: id, email: null, verified: true, dailyCapNano: null, openingNano, keyed, at: AT }) as const;

describe('creations in a further partition', { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let observed: ObservedDatabase;
  let create: (account: NewAccount) => Promise<string | null>;
  let accounts: AccountStore;

  before(async () => {
    stored = await createPartitioned(2);
    const { directory, partitions } = stored.databases;
    observed = observeDatabase(partitions[1]!);
    const routes = createRoutes([directory, observed.database], { find: () => 1 });
    create = createMakers(
      { directory, partitions: routes },
      () => [],
      async () => 1,
    ).accountCreations.create;
    accounts = createAccountStore(directory);
  });
  after(() => stored?.remove());

  const moneyOf = async (id: string) => {
    const ledger = createLedgerStore(stored.databases.partitions[1]!);
    const balance = (await ledger.findBalances([id], CONTEXT)).get(id);
    const { items: entries } = await ledger.listEntries(id, null, 10);
    return [balance?.balanceNano, entries.map(({ amountNano }) => amountNano)];
  };

  it('of an account with a balance write its first ledger entry too', async () => {
    await create(account('acct_funded', 5n));
    const [entry] = (await createLedgerStore(observed.database).listEntries('acct_funded', null, 10)).items;
    assert.deepEqual([entry?.entryNo, entry?.kind, entry?.amountNano, entry?.memo], [1n, 'top_up', 5n, null]);
    assert.deepEqual(await moneyOf('acct_funded'), [5n, [5n]]);
    await create(account('acct_empty', 0n));
    assert.deepEqual(await moneyOf('acct_empty'), [0n, []]);
    assert.deepEqual((await accounts.findAccount('acct_empty'))?.createdAt, AT);
    await assertSound(stored.databases);
  });

  for (const name of STATEMENTS)
    for (const when of WHENS) {
      it(`that fail ${when} ${name} leave nothing, and a repeat makes the account`, async () => {
        const failing = observed.statement(name);
        const keyed = { idempotencyKey: `${name} ${when}`, request: 'x' };
        const [lost, again] = [`acct_lost_${name}_${when}`, `acct_again_${name}_${when}`];
        failing.fail(when);
        await assert.rejects(create(account(lost, 5n, keyed)), { code: 'ECONNRESET' });
        failing.recover();
        assert.equal(await accounts.findAccount(lost), null);
        assert.deepEqual(await moneyOf(lost), [undefined, []]);

        assert.equal(await create(account(again, 5n, keyed)), again);
        assert.equal(await create(account('acct_other', 5n, keyed)), again);
        assert.equal(await create(account('acct_other', 6n, { ...keyed, request: 'y' })), null);
        assert.deepEqual(await moneyOf(again), [5n, [5n]]);
        assert.equal(await accounts.findAccount('acct_other'), null);
      });
    }

  for (const isCommitted of [true, false]) {
    it(`with one key wait for each other, and ${isCommitted ? 'the second returns the account of the first' : 'succeeds if the first fails'}`, async () => {
      const keyed = { idempotencyKey: `at once ${isCommitted}`, request: 'x' };
      const [first, second] = [`acct_first_${isCommitted}`, `acct_second_${isCommitted}`];
      const insert = observed.statement('accounts.insert');
      insert.hold();
      const reached = insert.reached(insert.asked + 1);
      const creating = Promise.allSettled([create(account(first, 7n, keyed))]);
      await reached;
      const repeating = create(account(second, 7n, keyed));
      await locksAwaited(stored.databases.directory, 1);
      if (!isCommitted) insert.fail('before');
      insert.release();
      insert.hold();
      const [{ status }] = await creating;
      insert.recover();
      insert.release();
      assert.equal(status, isCommitted ? 'fulfilled' : 'rejected');
      assert.equal(await repeating, isCommitted ? first : second);
      assert.deepEqual(await moneyOf(first), isCommitted ? [7n, [7n]] : [undefined, []]);
    });
  }
});

describe('a key of a new account', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored?.remove());

  for (const when of WHENS) {
    it(`is not there if its limits fail ${when} the database has carried them out`, async () => {
      const { database, statement } = observeDatabase(stored.database);
      const accountId = `acct_keys_${when}`;
      await createAccountIn(database, account(accountId, 0n));
      const limits = statement('key-limits.change');
      limits.fail(when);
      const keys = keysOn(inOneDatabase(database), { nowMs: () => AT.getTime() });
      const asked = { accountId, name: 'test', expiresAt: null, allowed: {}, userId: null };
      const make = () => keys.make({ ...asked, limits: { dailyCallsMax: 3 } });
      await assert.rejects(make(), { code: 'ECONNRESET' });
      limits.recover();
      assert.deepEqual(await createAccountStore(stored.database).listKeys(accountId, null, 10), []);
      assert.equal((await make()).limits.dailyCallsMax, 3);
    });
  }
});

describe(`any order of creations, failures and repeats`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored?.remove());

  const attempts = fc.array(
    fc.record({
      who: fc.constantFrom('first', 'second'),
      failing: fc.option(fc.record({ name: fc.constantFrom(...STATEMENTS), when: fc.constantFrom(...WHENS) })),
    }),
    { minLength: 1, maxLength: 6 },
  );

  it('creates each account once, with its top-up once', async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(attempts, async (tried) => {
        const run = runs++;
        const { database, statement } = observeDatabase(stored.database);
        const create = (who: string, n: number) => {
          const keyed = { idempotencyKey: `${run} ${who}`, request: who };
          return createAccountIn(database, { ...account(`acct_${run}_${who}_${n}`, 5n, keyed), name: `${run}` });
        };
        for (const [n, { who, failing }] of tried.entries()) {
          const failed = failing && statement(failing.name);
          if (failing) failed?.fail(failing.when);
          await create(who, n).catch(() => undefined);
          failed?.recover();
        }
        const asked = new Set(tried.map(({ who }) => who));
        const repeated = await Promise.all([...asked].map((who) => create(who, 100)));
        const found = await createAccountStore(stored.database).listAccounts({ name: `${run}` }, null, 10);
        assert.deepEqual(found.items.map(({ id }) => id).sort(), repeated.sort());
        const balances = await createLedgerStore(stored.database).findBalances(repeated as string[], CONTEXT);
        assert.deepEqual(
          [...balances.values()].map(({ balanceNano }) => balanceNano),
          repeated.map(() => 5n),
        );
        await assertSound(inOneDatabase(stored.database));
      }),
      { numRuns: 20 },
    );
  });
});

describe('an audit of accounts', { timeout: 60_000 }, () => {
  it('reports an account without a balance, and a balance without an account', async () => {
    await using stored = await createTestDatabase();
    const { database } = stored;
    for (const id of ['acct_a', 'acct_b', 'acct_c']) await createAccountIn(database, account(id, 1n));
    await assertSound(inOneDatabase(database));
    await database.script(`insert into balances (account_id) values ('acct_lost');
insert into accounts (id, name, verified, status, created_at, updated_at)
values ('acct_z', 'z', true, 'active', now(), now())`);
    for (const options of [{ accountsMax: 1 }, { accountsMax: 2 }, {}]) {
      const found = (await auditLedger(inOneDatabase(database), options)).flatMap(({ invariant, breaches }) =>
        breaches.map(({ accountId, detail }) => [invariant.slice(0, 13), accountId, detail]),
      );
      assert.deepEqual(found.sort(), [
        ['every account', 'acct_lost', 'no account'],
        ['every account', 'acct_z', 'no balance'],
      ]);
    }
  });
});
