import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CodeFacts, decideCode } from './voucher.ts';

const AT = new Date('2026-11-20T12:00:00Z');
const LATER = new Date('2026-11-20T12:00:01Z');
const VALID = { expiresAt: null, canceledAt: null };
const by = (accountId: string, isWhole: boolean) => ({ accountId, isWhole });

describe('a code, for an account', () => {
  it('is free, its own, or refused', () => {
    const transcript: [string, Partial<CodeFacts>][] = [
      ['free', {}],
      ['free', { voucher: { expiresAt: LATER, canceledAt: null } }],
      ['expired', { voucher: { expiresAt: AT, canceledAt: null } }],
      ['canceled', { voucher: { expiresAt: AT, canceledAt: AT } }],
      ['whole', { redemption: by('acct_a', true) }],
      ['under_way', { redemption: by('acct_a', false) }],
      // Behind its expiry and its cancellation too.
      ['whole', { voucher: { expiresAt: AT, canceledAt: AT }, redemption: by('acct_a', true) }],
      ['under_way', { voucher: { expiresAt: AT, canceledAt: AT }, redemption: by('acct_a', false) }],
      // The same whether another account has it, or is about to, or nobody can.
      ['unknown_code', { redemption: by('acct_b', true) }],
      ['unknown_code', { redemption: by('acct_b', false) }],
      ['unknown_code', { voucher: { expiresAt: AT, canceledAt: AT }, redemption: by('acct_b', false) }],
      ['unknown_code', { voucher: null }],
      ['unknown_account', { isAccount: false }],
      ['unknown_account', { isAccount: false, voucher: null }],
    ];
    const facts: CodeFacts = { isAccount: true, voucher: VALID, redemption: null };
    for (const [decided, given] of transcript) {
      const found = decideCode({ ...facts, ...given }, { accountId: 'acct_a', at: AT });
      assert.equal(found, decided, JSON.stringify(given));
    }
  });
});
