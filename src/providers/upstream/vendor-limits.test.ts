import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readVendorLimits, VendorLimits } from './vendor-limits.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');

describe('rate-limit headers of vendors', () => {
  it('of chat have resets as durations or seconds', () => {
    for (const [text, waitMs] of [
      ['6m0s', 360_000],
      ['1m2.5s', 62_500],
      ['120ms', 120],
      ['1h', 3_600_000],
      ['7', 7_000],
      ['0.5', 500],
      ['soon', 10_000],
      [undefined, 10_000],
    ] as const) {
      const headers = {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '2',
        ...(text !== undefined && { 'x-ratelimit-reset-requests': text }),
      };
      const expected = { of: 'requests', max: 60, remaining: 2, resetAtMs: NOW_MS + waitMs };
      assert.deepEqual(readVendorLimits(headers, NOW_MS), [expected], text);
    }
  });

  it('of messages have resets as instants, with any name of a vendor', () => {
    for (const vendor of ['anthropic', 'another-vendor']) {
      const headers = {
        [`${vendor}-ratelimit-requests-limit`]: '50',
        [`${vendor}-ratelimit-requests-remaining`]: '0',
        [`${vendor}-ratelimit-requests-reset`]: '2026-11-20T04:00:30Z',
        [`${vendor}-ratelimit-input-tokens-remaining`]: '4000',
        [`${vendor}-ratelimit-input-tokens-reset`]: '2026-11-20T03:59:00Z',
      };
      assert.deepEqual(readVendorLimits(headers, NOW_MS), [
        { of: 'requests', max: 50, remaining: 0, resetAtMs: NOW_MS + 30_000 },
        { of: 'input-tokens', max: null, remaining: 4000, resetAtMs: NOW_MS },
      ]);
    }
  });

  it('that cannot be read say nothing', () => {
    for (const headers of [
      {},
      { 'x-ratelimit-remaining': '0' },
      { 'x-ratelimit-remaining-requests': '-1' },
      { 'x-ratelimit-remaining-requests': 'many' },
    ]) {
      assert.deepEqual(readVendorLimits(headers, NOW_MS), []);
    }
  });

  it('with a reset far away, such as an instant in seconds, never hold anything up', () => {
    const headers = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1795000000' };
    assert.equal(new VendorLimits(readVendorLimits(headers, NOW_MS)).usedUpUntilMs, 0);
  });
});

describe('the remaining amount of a limit of a vendor', () => {
  const left = (remaining: number, of: 'requests' | 'tokens' = 'requests') =>
    ({ of, max: null, remaining, resetAtMs: NOW_MS + 1_000 }) as const;

  it('is used up by requests that were sent since the last response', () => {
    const limits = new VendorLimits([left(2)]);
    limits.sent();
    assert.equal(limits.usedUpUntilMs, 0);
    limits.sent();
    assert.equal(limits.usedUpUntilMs, NOW_MS + 1_000);
    assert.deepEqual(limits.status(NOW_MS), [{ ...left(2), remaining: 0 }]);
    limits.replace([left(1)]);
    assert.equal(limits.usedUpUntilMs, 0);
  });

  it('counts no tokens for requests that were sent', () => {
    const limits = new VendorLimits([left(1, 'tokens')]);
    limits.sent();
    assert.equal(limits.usedUpUntilMs, 0);
  });

  it('is unknown after the reset', () => {
    assert.deepEqual(new VendorLimits([left(0)]).status(NOW_MS + 1_000), []);
  });
});
