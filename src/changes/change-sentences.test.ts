import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DescribedChange } from './change-facts.ts';
import { changeSentence } from './change-sentences.ts';

const NAMES = { accounts: new Map([['acct_1', 'Acme']]), plans: new Map([['wide', 'Wide']]) };

const sentenceOf = (action: string, change: Partial<DescribedChange> = {}) =>
  changeSentence(
    {
      action,
      outcome: 'done',
      subjectKind: 'account',
      subjectId: 'acct_1',
      accountId: 'acct_1',
      before: null,
      after: null,
      ...change,
    },
    NAMES,
  );

describe('the sentence of a change', () => {
  it('says "may have" if the outcome is unknown, with the names that are known', () => {
    const before = { name: 'ci', prefix: 'sk-fg-Ab12…' };
    for (const outcome of ['begun', 'failed'] as const) {
      assert.deepEqual(sentenceOf('keys.delete', { outcome, before }), {
        en: 'may have revoked key “ci” of account “Acme”',
        zh: '可能已吊销账户“Acme”的密钥“ci”',
      });
    }
    assert.equal(sentenceOf('accounts.create', { outcome: 'begun' }).en, 'may have created account');
  });

  it('states how an unresolved call was resolved', () => {
    const of = (resolution: object, chargeYuan: string | null = null) =>
      sentenceOf('calls.resolution', {
        subjectId: 'call_1',
        before: { model: 'demo-chat' },
        after: { chargeYuan, resolution: { memo: 'billed', ...resolution } },
      });
    const call = 'resolved call call_1 (demo-chat) of account “Acme”';
    assert.equal(of({ action: 'charge' }, '0.5').en, `${call}, charged ¥0.5: billed`);
    assert.equal(of({ action: 'count', tokens: 7 }).en, `${call}, counted 7 tokens: billed`);
    assert.deepEqual(of({ action: 'release', memo: null }), {
      en: `${call}, released it`,
      zh: '处理账户“Acme”的调用 call_1（demo-chat），释放预留',
    });
  });

  it('shows the configured name of a plan, or its id if the plan is no longer configured', () => {
    const of = (planId: string) =>
      sentenceOf('accounts.vouchers.create', { after: { codeEnd: 'BH4C', redeemedAt: 'now', planId } }).en;
    assert.equal(of('wide'), 'redeemed voucher …BH4C for account “Acme”: plan “Wide”');
    assert.equal(of('gone'), 'redeemed voucher …BH4C for account “Acme”: plan “gone”');
  });

  it('shows the sign of an adjustment', () => {
    const of = (amountYuan: string) =>
      sentenceOf('accounts.adjustments.create', { after: { amountYuan, memo: 'a slip' } });
    assert.equal(of('-1.5').en, 'adjusted the balance of account “Acme” by −¥1.5: a slip');
    assert.equal(of('2').zh, '将账户“Acme”的余额调账 +¥2：a slip');
  });

  it('is the action if this version has no sentence for it', () => {
    assert.deepEqual(sentenceOf('moons.create'), { en: 'moons.create', zh: 'moons.create' });
    assert.deepEqual(sentenceOf('constructor'), { en: 'constructor', zh: 'constructor' });
  });
});
