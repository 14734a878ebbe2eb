import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import { checkBooks } from './check-books.ts';
import type { ForeignAccount, ForeignBooks, ForeignKey } from './foreign-books.ts';

const KEY: ForeignKey = {
  ref: '7',
  name: 'ci',
  sha256: Buffer.alloc(32),
  prefix: 'sk-Ab12…',
  isRevoked: false,
  expiresAt: new Date('2076-11-14T01:28:52Z'),
  limits: { totalSpendCapNano: 14_300n },
  allowed: NO_ALLOW_LISTS,
};

const booksOf = (change: Partial<ForeignAccount>): ForeignBooks => ({
  source: 'new-api',
  version: 'v1',
  accounts: [{ ref: '2', name: 'lin', email: null, balanceNano: 0n, suspendedBecause: null, keys: [KEY], ...change }],
  leftOut: [],
});

describe('accounts of another gateway', () => {
  it('can be imported if the admin API accepts all of them', () => {
    checkBooks(booksOf({}));
    checkBooks(booksOf({ balanceNano: -1n, email: 'lin@example.com' }));
  });

  it('are refused before anything is created, with the account, the key and the problem', () => {
    for (const [change, expected] of [
      [{ email: 'lin' }, /^lin \(2\): email: Expected an e-mail address\.$/m],
      [{ balanceNano: 10n ** 18n }, /^lin \(2\): balance: .*at most 100000000\.$/m],
      [{ keys: [{ ...KEY, name: 'a\u202eb' }] }, /^lin \(2\): key .*: name: Must not contain control characters/m],
      [{ keys: [{ ...KEY, limits: { totalSpendCapNano: 10n ** 18n } }] }, /key ci \(7\): totalSpendCapYuan: /],
    ] as const) {
      assert.throws(() => checkBooks(booksOf(change)), { message: expected });
    }
  });

  it('report twenty problems, and the number of further ones', () => {
    const keys = Array.from({ length: 25 }, () => ({ ...KEY, prefix: '' }));
    assert.throws(() => checkBooks(booksOf({ keys })), {
      message: /^(?:.*prefix.*\n){20}and 5 more\nNothing was imported\./,
    });
  });
});
