import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountStore, createAccountStore } from '../../src/accounting/accounts/store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { inOneDatabase } from '../../src/db/home-lanes.ts';
import { CONTEXT } from '../support/accounting-builders.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { keysOn } from '../support/keys.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';

const AT = new Date('2026-11-20T04:00:00Z');

for (const engine of engines) {
  describe(`creations on ${engine}`, () => {
    let stored: TestDatabase;
    let observed: ObservedDatabase;
    let accounts: AccountStore;

    before(async () => {
      stored = await createTestDatabase(engine);
      observed = observeDatabase(stored.database);
      accounts = createAccountStore(observed.database);
    });
    after(() => stored.remove());

    const account = (id: string, openingNano: bigint) =>
      ({ id, name: id, email: null, verified: true, dailyCapNano: null, openingNano, at: AT }) as const;
    const open = (id: string, openingNano: bigint) => accounts.insertAccount(account(id, openingNano));

    it('of an account with a balance are its first ledger entry too', async () => {
      await open('acct_funded', 5n);
      const ledger = createLedgerStore(stored.database);
      assert.equal((await ledger.findBalances(['acct_funded'], CONTEXT)).get('acct_funded')?.balanceNano, 5n);
      const [entry] = await ledger.listEntries('acct_funded', null, 10);
      assert.deepEqual([entry?.entryNo, entry?.kind, entry?.amountNano, entry?.memo], [1n, 'top_up', 5n, null]);
      await open('acct_empty', 0n);
      assert.deepEqual(await ledger.listEntries('acct_empty', null, 10), []);
    });

    for (const when of ['before', 'after'] as const) {
      it(`leave no account if its top-up fails ${when} the database has carried it out`, async () => {
        const entries = observed.statement('ledger.post-entry');
        entries.fail(when);
        await assert.rejects(open(`acct_half_${when}`, 5n), { code: 'ECONNRESET' });
        entries.recover();
        assert.equal(await accounts.findAccount(`acct_half_${when}`), null);
      });

      it(`leave its idempotency key free if its top-up fails ${when} the database has carried it out`, async () => {
        const keyed = { idempotencyKey: `key-${when}`, request: 'x' };
        const create = (id: string) => accounts.insertAccount({ ...account(id, 5n), keyed });
        const entries = observed.statement('ledger.post-entry');
        entries.fail(when);
        await assert.rejects(create(`acct_first_${when}`), { code: 'ECONNRESET' });
        entries.recover();
        assert.equal(await create(`acct_second_${when}`), `acct_second_${when}`);
        assert.equal(await create(`acct_third_${when}`), `acct_second_${when}`);
      });

      it(`leave no key if its limits fail ${when} the database has carried them out`, async () => {
        const accountId = `acct_keys_${when}`;
        await open(accountId, 0n);
        const limits = observed.statement('key-limits.change');
        limits.fail(when);
        const keys = keysOn(inOneDatabase(observed.database), { nowMs: () => AT.getTime() });
        const asked = { accountId, name: 'test', expiresAt: null, allowed: {}, userId: null };
        const create = () => keys.make({ ...asked, limits: { dailyCallsMax: 3 } });
        await assert.rejects(create(), { code: 'ECONNRESET' });
        limits.recover();
        assert.deepEqual(await accounts.listKeys(accountId, null, 10), []);
        assert.equal((await create()).limits.dailyCallsMax, 3);
      });
    }
  });
}
