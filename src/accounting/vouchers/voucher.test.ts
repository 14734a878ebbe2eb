import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CodeFacts, decideCode } from './voucher.ts';

const AT = new Date('2026-11-20T12:00:00Z');
const LATER = new Date('2026-11-20T12:00:01Z');
const VALID = { expiresAt: null, canceledAt: null };
const by = (accountId: string) => ({ accountId });

describe('a code, for an account', () => {
  it('is free, redeemed by it, or refused', () => {
    const transcript: [string, Partial<CodeFacts>][] = [
      ['free', {}],
      ['free', { voucher: { expiresAt: LATER, canceledAt: null } }],
      ['expired', { voucher: { expiresAt: AT, canceledAt: null } }],
      ['canceled', { voucher: { expiresAt: AT, canceledAt: AT } }],
      ['redeemed', { redemption: by('acct_a') }],
      // Also after expiry and cancellation.
      ['redeemed', { voucher: { expiresAt: AT, canceledAt: AT }, redemption: by('acct_a') }],
      // The same whether the code does not exist or another account has redeemed it.
      ['unknown_code', { redemption: by('acct_b') }],
      ['unknown_code', { voucher: { expiresAt: AT, canceledAt: AT }, redemption: by('acct_b') }],
      ['unknown_code', { voucher: null }],
    ];
    const facts: CodeFacts = { voucher: VALID, redemption: null };
    for (const [decided, given] of transcript) {
      const found = decideCode({ ...facts, ...given }, { accountId: 'acct_a', at: AT });
      assert.equal(found, decided, JSON.stringify(given));
    }
  });
});
