import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { thresholdAbove } from '../../console/src/features/overview/low-balance.ts';

const low = (thresholdYuan: string | null, defaultThresholdYuan: string | null = null) => ({
  thresholdYuan,
  defaultThresholdYuan,
});

describe('a balance', () => {
  it('is low below its threshold, exact to the nano-yuan, as for the notice', () => {
    assert.equal(thresholdAbove('9.999999999', low('10')), '10');
    assert.equal(thresholdAbove('10', low('10')), null);
    // Equal as floating point numbers.
    assert.equal(thresholdAbove('90071992.547409921', low('90071992.547409922')), '90071992.547409922');
  });

  it("uses the account's threshold before the gateway's", () => {
    assert.equal(thresholdAbove('5', low('4', '10')), null);
    assert.equal(thresholdAbove('5', low(null, '10')), '10');
    assert.equal(thresholdAbove('5', low(null)), null);
  });

  it('is not low if it is zero or negative', () => {
    assert.equal(thresholdAbove('0', low('10')), null);
    assert.equal(thresholdAbove('-1', low('10')), null);
  });
});
