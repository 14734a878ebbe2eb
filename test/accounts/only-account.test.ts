import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createApiKey, displayPrefix, hashApiKey } from '../../src/accounting/accounts/key-format.ts';
import { createLimitedKeyStore } from '../../src/accounting/accounts/limited-key-store.ts';
import { createLimitedKeys } from '../../src/accounting/accounts/limited-keys.ts';
import { createPrincipals, type Principals } from '../../src/accounting/accounts/principals.ts';
import { createKeyStatusStore } from '../../src/accounting/accounts/status-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { patientQuestions } from '../support/questions.ts';

const AT = new Date('2026-11-20T04:00:00Z');

describe(`the only account of a gateway`, () => {
  let stored: TestDatabase;
  let principals: Principals;
  before(async () => {
    stored = await createTestDatabase();
    principals = await createPrincipals({
      store: createKeyStatusStore(stored.database),
      limitedKeys: createLimitedKeys(createLimitedKeyStore(stored.database), patientQuestions()),
      partitions: { note: () => undefined },
      directory: stored.database,
      questions: patientQuestions(),
      clock: systemClock,
    });
  });
  after(async () => {
    await principals.close();
    await stored.remove();
  });

  async function createKey(accountId: string, keyId: string): Promise<string> {
    const key = createApiKey((bytes) => webcrypto.getRandomValues(bytes));
    const [keyHash, prefix] = [hashApiKey(key), displayPrefix(key)];
    const store = createAccountStore(stored.database);
    await store.insertKey({ accountId, id: keyId, name: 'test', keyHash, prefix, expiresAt: null, at: AT });
    return key;
  }

  async function createAccount(id: string): Promise<void> {
    const account = { id, name: id, email: null, verified: true, dailyCapNano: null, at: AT };
    await createAccountIn(stored.database, account);
  }

  it('is known by its keys until another account has been seen, and then none is', async () => {
    await createAccount('one');
    const key = await createKey('one', 'one-1');
    const first = await principals.authenticate(key);
    assert.equal(first.isOnlyAccount, true);
    const second = await principals.authenticate(await createKey('one', 'one-2'));
    assert.equal(second.isOnlyAccount, true);

    await createAccount('two');
    const other = await principals.authenticate(await createKey('two', 'two-1'));
    assert.equal(other.isOnlyAccount, false);
    // What was read before is no longer valid, not even for pending calls.
    assert.equal(first.isOnlyAccount, false);
    assert.equal((await principals.authenticate(key)).isOnlyAccount, false);
  });
});
