import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { AccountCreations } from '../../src/accounting/accounts/account-creations.ts';
import { type AccountStore, createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createInSteps } from '../../src/app/in-steps.ts';
import { CONTEXT } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { finishNow } from '../support/in-steps.ts';
import { keysOn } from '../support/keys.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';
import { assertSound } from '../support/sound.ts';

/**
 * Accounts are made in steps: in the directory and in a partition, which are two databases here. Whatever fails in between, an account is
 * whole or is not there, and its first top-up is there once.
 */

const AT = new Date('2026-11-20T04:00:00Z');

/** The statements of a creation, in their order, each before or after the database has carried it out. */
const STEPS = ['new-accounts.insert', 'accounts.insert-balance', 'ledger.post-entry', 'new-accounts.complete'] as const;
const WHENS = ['before', 'after'] as const;

describe(`creations`, { timeout: 120_000 }, () => {
  let stored: { readonly directory: TestDatabase; readonly partition: TestDatabase };
  let observed: { readonly directory: ObservedDatabase; readonly partition: ObservedDatabase };
  let steps: ReturnType<typeof createInSteps>;
  let creations: AccountCreations;
  let accounts: AccountStore;

  before(async () => {
    stored = { directory: await createTestDatabase(), partition: await createTestDatabase() };
    observed = {
      directory: observeDatabase(stored.directory.database),
      partition: observeDatabase(stored.partition.database),
    };
    const lanes = { directory: observed.directory.database, partition: observed.partition.database };
    steps = createInSteps(placedInOne(lanes), () => []);
    creations = steps.accountCreations;
    accounts = createAccountStore(observed.directory.database);
  });
  after(async () => {
    await stored?.directory.remove();
    await stored?.partition.remove();
  });

  const account = (id: string, openingNano: bigint) =>
    ({ id, name: id, email: null, verified: true, dailyCapNano: null, openingNano, at: AT }) as const;
  const open = (id: string, openingNano: bigint) => creations.create(account(id, openingNano));
  const moneyOf = async (id: string) => {
    const ledger = createLedgerStore(stored.partition.database);
    const balance = (await ledger.findBalances([id], CONTEXT)).get(id);
    const { items: entries } = await ledger.listEntries(id, null, 10);
    return [balance?.balanceNano, entries.map(({ amountNano }) => amountNano)];
  };
  const idsFound = async (name: string): Promise<string[]> =>
    (await accounts.listAccounts({ name }, null, 10)).items.map(({ id }) => id);

  it('of an account with a balance are its first ledger entry too', async () => {
    await open('acct_funded', 5n);
    const ledger = createLedgerStore(stored.partition.database);
    const [entry] = (await ledger.listEntries('acct_funded', null, 10)).items;
    assert.deepEqual([entry?.entryNo, entry?.kind, entry?.amountNano, entry?.memo], [1n, 'top_up', 5n, null]);
    assert.deepEqual(await moneyOf('acct_funded'), [5n, [5n]]);
    await open('acct_empty', 0n);
    assert.deepEqual(await moneyOf('acct_empty'), [0n, []]);
    assert.deepEqual((await accounts.findAccount('acct_empty'))?.createdAt, AT);
  });

  for (const step of STEPS)
    for (const when of WHENS) {
      it(`that fail ${when} ${step} leave nothing to see, and are finished once by a repeat, or without one`, async () => {
        const [home, [isBegun, hasBalance, isWhole]] = {
          'new-accounts.insert': ['directory', [false, false, false]],
          'accounts.insert-balance': ['partition', [true, false, false]],
          'ledger.post-entry': ['partition', [true, false, false]],
          // A statement of its own: it is carried out although nobody hears of it.
          'new-accounts.complete': ['directory', [true, true, when === 'after']],
        }[step] as ['directory' | 'partition', [boolean, boolean, boolean]];
        const failing = observed[home].statement(step);
        const name = `${step} ${when}`;
        const create = (id: string, idempotencyKey: string | null) =>
          creations.create({
            ...account(id, 5n),
            name,
            keyed: idempotencyKey === null ? null : { idempotencyKey, request: 'x' },
          });
        const [keyed, again, unkeyed] = ['keyed', 'again', 'unkeyed'].map((part) => `acct_${part}_${step}_${when}`);
        failing.fail(when);
        await assert.rejects(create(keyed!, name), { code: 'ECONNRESET' });
        await assert.rejects(create(unkeyed!, null), { code: 'ECONNRESET' });
        failing.recover();
        for (const id of [keyed!, unkeyed!]) {
          assert.equal((await accounts.findAccount(id)) !== null, isWhole);
          assert.deepEqual(await moneyOf(id), hasBalance ? [5n, [5n]] : [undefined, []]);
        }
        if (!isWhole) {
          assert.deepEqual(await idsFound(name), []);
          assert.deepEqual((await accounts.listAccounts({ search: name }, null, 10)).items, []);
          assert.equal((await accounts.findNames([keyed!])).size, 0);
          assert.equal(await accounts.updateAccount(keyed!, { verified: false }, AT), null);
          const key = { accountId: keyed!, id: `key_${name}`, name: 'k', prefix: 'p', expiresAt: null, at: AT };
          await assert.rejects(accounts.insertKey({ ...key, keyHash: Buffer.from(name) }), { code: '23503' });
        }

        const first = isBegun ? keyed! : again!;
        assert.equal(await create(again!, name), first);
        assert.equal(await create('acct_other', name), first);
        assert.equal(
          await creations.create({ ...account('acct_other', 6n), keyed: { idempotencyKey: name, request: 'y' } }),
          null,
        );
        assert.deepEqual(await moneyOf(first), [5n, [5n]]);
        await finishNow(steps);
        await finishNow(steps);
        const made = isBegun ? [unkeyed!, first] : [first];
        assert.deepEqual(await idsFound(name), made);
        for (const id of made) assert.deepEqual(await moneyOf(id), [5n, [5n]]);
      });
    }

  it('that several nodes finish at once are one', async () => {
    const balances = observed.partition.statement('accounts.insert-balance');
    balances.fail('before');
    const ids = ['acct_r1', 'acct_r2', 'acct_r3'];
    const create = (id: string) =>
      creations.create({ ...account(id, 7n), keyed: { idempotencyKey: `race ${id}`, request: 'x' } });
    for (const id of ids) await assert.rejects(create(id));
    balances.recover();
    const repeats = ids.flatMap((id) => [create(id), create(id)]);
    await Promise.all([finishNow(steps), ...repeats, finishNow(steps), finishNow(steps)]);
    for (const id of ids) {
      assert.deepEqual(await moneyOf(id), [7n, [7n]]);
      assert.equal((await accounts.findAccount(id))?.name, id);
    }
  });

  it('that have just begun are left to their requests', async () => {
    const complete = observed.directory.statement('new-accounts.complete');
    complete.fail('before');
    await assert.rejects(open('acct_young', 1n));
    complete.recover();
    assert.deepEqual(await creations.unfinished(60_000).list(''), []);
    assert.deepEqual(
      (await creations.unfinished(0).list('')).map(({ id }) => id),
      ['acct_young'],
    );
    await finishNow(steps);
  });

  for (const when of WHENS) {
    it(`leave no key if its limits fail ${when} the database has carried them out`, async () => {
      const apart = observeDatabase(stored.directory.database);
      const together = createInSteps(placedInOne(inOneDatabase(apart.database)), () => []);
      const accountId = `acct_keys_${when}`;
      await together.accountCreations.create(account(accountId, 0n));
      const limits = apart.statement('key-limits.change');
      limits.fail(when);
      const keys = keysOn(inOneDatabase(apart.database), { nowMs: () => AT.getTime() });
      const asked = { accountId, name: 'test', expiresAt: null, allowed: {}, userId: null };
      const create = () => keys.make({ ...asked, limits: { dailyCallsMax: 3 } });
      await assert.rejects(create(), { code: 'ECONNRESET' });
      limits.recover();
      assert.deepEqual(await accounts.listKeys(accountId, null, 10), []);
      assert.equal((await create()).limits.dailyCallsMax, 3);
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
      who: fc.constantFrom('first', 'second', 'background'),
      failing: fc.option(fc.record({ step: fc.constantFrom(...STEPS), when: fc.constantFrom(...WHENS) })),
    }),
    { minLength: 1, maxLength: 6 },
  );

  it('ends in each account once, with its top-up once', async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(attempts, async (tried) => {
        const run = runs++;
        const observed = observeDatabase(stored.database);
        const steps = createInSteps(placedInOne(inOneDatabase(observed.database)), () => []);
        const create = (who: string, n: number) =>
          steps.accountCreations.create({
            ...{ id: `acct_${run}_${who}_${n}`, name: `${run}`, email: null, verified: true, dailyCapNano: null },
            ...{ openingNano: 5n, at: AT, keyed: { idempotencyKey: `${run} ${who}`, request: who } },
          });
        const asked = new Set<string>();
        for (const [n, { who, failing }] of tried.entries()) {
          const statement = failing && observed.statement(failing.step);
          if (failing) statement?.fail(failing.when);
          if (who !== 'background') asked.add(who);
          await (who === 'background' ? finishNow(steps) : create(who, n)).catch(() => undefined);
          statement?.recover();
        }
        const repeated = await Promise.all([...asked].map((who) => create(who, 100)));
        await finishNow(steps);
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
  it('tells an account without a balance, a balance without an account, and what is under way for too long', async () => {
    await using stored = await createTestDatabase();
    const { database } = stored;
    const found = async (rowsMax?: number) =>
      (await auditLedger(inOneDatabase(database), rowsMax === undefined ? {} : { rowsMax })).flatMap(
        ({ invariant, breaches }) =>
          breaches.map(({ accountId, detail }) => [invariant.slice(0, 13), accountId, detail]),
      );
    const steps = createInSteps(placedInOne(inOneDatabase(database)), () => []);
    for (const id of ['acct_a', 'acct_b', 'acct_c']) {
      const account = { id, name: id, email: null, verified: true, dailyCapNano: null, openingNano: 1n, at: AT };
      await steps.accountCreations.create(account);
    }
    await database.script(`insert into new_accounts (id, name, verified, opening_nano, created_at)
values ('acct_new', 'n', true, 0, now());
insert into balances (account_id) values ('acct_new')`);
    assert.deepEqual(await found(), []);
    await database.script(`update new_accounts set under_way_since = now() - interval '16 minutes';
insert into balances (account_id) values ('acct_lost');
insert into accounts (id, name, verified, status, created_at, updated_at)
values ('acct_z', 'z', true, 'active', now(), now())`);
    for (const rowsMax of [1, 2, undefined]) {
      assert.deepEqual(
        (await found(rowsMax)).map(([invariant, id, detail]) => [invariant, id, detail!.slice(0, 10)]),
        [
          ['every account', 'acct_z', 'no balance'],
          ['every account', 'acct_lost', 'no account'],
          ['accounts that', 'acct_new', 'account, s'],
        ],
      );
    }
  });
});
