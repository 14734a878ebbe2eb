import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type TokenRow, termsOf } from './tokens.ts';
import type { Program } from './versions.ts';

const AT = new Date('2026-11-27T00:00:00Z');
const SECOND_AT = AT.getTime() / 1_000;

const TOKEN: TokenRow = {
  id: '1',
  userId: '2',
  name: 'ci',
  key: 'abc',
  status: '1',
  expiredTime: '-1',
  remainQuota: '0',
  isUnlimited: true,
  models: null,
  networks: '',
};

const terms = (change: Partial<TokenRow>, program: Program = 'new-api') =>
  termsOf(program, { ...TOKEN, ...change }, AT);

describe('a token of one-api or new-api', () => {
  it('without limits is a key without limits', () => {
    assert.deepEqual(terms({}), {
      endedBy: null,
      expiresAt: null,
      remainingUnits: null,
      allowed: { models: null, networks: null },
    });
  });

  it('is limited to the rest of its quota, zero if it is overdrawn', () => {
    assert.equal(terms({ isUnlimited: false, remainQuota: '999884' }).remainingUnits, 999_884n);
    assert.equal(terms({ isUnlimited: false, remainQuota: '-1934' }).remainingUnits, 0n);
    assert.equal(terms({ isUnlimited: true, remainQuota: '-1935' }).remainingUnits, null);
  });

  it('with the status exhausted may spend nothing, and is not ended', () => {
    for (const change of [{ isUnlimited: true }, { isUnlimited: false, remainQuota: '700' }]) {
      const { remainingUnits, endedBy } = terms({ status: '4', ...change });
      assert.deepEqual({ remainingUnits, endedBy }, { remainingUnits: 0n, endedBy: null });
    }
  });

  it('keeps its expiry, whatever its status is', () => {
    for (const status of ['1', '3']) {
      const { endedBy, expiresAt } = terms({ status, expiredTime: String(SECOND_AT - 60) });
      assert.equal(endedBy, null);
      assert.deepEqual(expiresAt, new Date('2026-11-26T23:59:00Z'));
    }
    assert.deepEqual(terms({ expiredTime: String(SECOND_AT + 60) }).expiresAt, new Date('2026-11-27T00:01:00Z'));
  });

  it('is ended if it is disabled, marked as expired before its time, or has an unknown status', () => {
    assert.equal(terms({ status: '2' }).endedBy, 'disabled');
    assert.equal(terms({ status: '3' }).endedBy, 'disabled');
    assert.equal(terms({ status: '3', expiredTime: String(SECOND_AT + 60) }).endedBy, 'disabled');
    assert.equal(terms({ status: '9' }).endedBy, 'disabled');
  });

  it('keeps its models and its networks, which new-api separates by lines and one-api by commas', () => {
    const models = 'gpt-4o,gpt-4o-mini,gpt-4o';
    const expected = { models: ['gpt-4o', 'gpt-4o-mini'], networks: ['127.0.0.0/8', '10.1.2.3', '2001:db8::/32'] };
    assert.deepEqual(terms({ models, networks: '127.0.0.0/8\n 10.1.2.3,\n\n2001:DB8::/32' }).allowed, expected);
    assert.deepEqual(
      terms({ models, networks: '127.0.0.0/8, 10.1.2.3/32,2001:db8::/32' }, 'one-api').allowed,
      expected,
    );
  });

  it('is ended if its lists cannot be imported, because it could do more without them', () => {
    const names = Array.from({ length: 101 }, (_, at) => `model-${at}`).join(',');
    for (const [change, reason] of [
      [{ models: '' }, 'their list of models cannot be read'],
      [{ networks: 'somewhere' }, 'their list of networks cannot be read'],
      [{ models: names }, 'their list of models has more than 100 entries'],
    ] as const) {
      assert.equal(terms(change).endedBy, reason);
    }
    assert.deepEqual(terms({ networks: 'somewhere\n10.0.0.1' }).allowed.networks, ['10.0.0.1']);
  });
});
