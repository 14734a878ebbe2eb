import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiKey } from '../../src/accounting/accounts/api-key-store.ts';
import { createKeyLimitStore } from '../../src/accounting/accounts/key-limit-store.ts';
import { createRateLimitStore } from '../../src/accounting/accounts/rate-limit-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { keysOn } from '../support/keys.ts';
import { sql } from '../support/sql.ts';

/** What foreign keys would ensure if partitions and the directory were one database (docs/decisions/0060-homes-of-tables.md). */

const AT = new Date('2026-11-20T04:00:00Z');

describe(`rows of accounts and keys`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
    await openAccount(stored.database, 'acct_owner', 1n);
  });
  after(() => stored?.remove());

  const countOf = async (table: string): Promise<number> => {
    return (await sql<{ n: number }>(stored.database, `select count(*)::int as n from ${table}`))[0]!.n;
  };

  it('are an account with its balance, or neither', async () => {
    const account = { id: 'acct_rich', name: 'n', email: null, verified: true, dailyCapNano: 5n, at: AT };
    await assert.rejects(createAccountIn(stored.database, { ...account, openingNano: 2n ** 63n }), { code: '22003' });
    assert.deepEqual([await countOf('accounts'), await countOf('balances')], [1, 1]);
    assert.equal(await createAccountIn(stored.database, { ...account, openingNano: 7n }), 'acct_rich');
    const read = `select balance_nano, daily_cap_nano from balances where account_id = 'acct_rich'`;
    assert.deepEqual(await sql(stored.database, read), [{ balance_nano: 7n, daily_cap_nano: 5n }]);
  });

  it('are limits of existing keys', async () => {
    const limits = createKeyLimitStore(stored.database);
    const none = { accountId: 'acct_owner', id: 'key_none' } as ApiKey;
    const keys = keysOn(inOneDatabase(stored.database), { nowMs: () => AT.getTime() });
    assert.equal(await keys.change(none, { limits: { dailyCallsMax: 1 }, rates: { requestsMax: 1 } }), null);
    assert.equal(await limits.change('acct_none', 'key_none', { dailyCallsMax: 1 }), null);
    assert.equal(await countOf('key_limits'), 0);
    assert.equal(await countOf('rate_limits'), 0);
    const rates = createRateLimitStore(stored.database);
    await assert.rejects(rates.change({ accountId: 'acct_none', keyId: null }, { requestsMax: 1 }));
    assert.equal(await countOf('rate_limits'), 0);
  });

  it('are plans of existing accounts, and the requests that granted them', async () => {
    const subscriptions = createSubscriptionStore(stored.database);
    const keyed = { idempotencyKey: 'k', request: 'r' };
    const granted = { id: 'sub_one', planId: 'p', startsAt: AT, endsAt: new Date(AT.getTime() + 1_000), at: AT };
    assert.equal(await subscriptions.grant({ ...granted, accountId: 'acct_none' }, keyed), null);
    assert.deepEqual([await countOf('subscriptions'), await countOf('subscription_requests')], [0, 0]);
    assert.equal((await subscriptions.grant({ ...granted, accountId: 'acct_owner' }, keyed))!.id, 'sub_one');
    assert.deepEqual([await countOf('subscriptions'), await countOf('subscription_requests')], [1, 1]);
  });
});
