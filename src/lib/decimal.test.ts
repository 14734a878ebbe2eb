import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { isSame, parseDecimal, quotient, readDecimal, times, toNano, withPercent } from './decimal.ts';

it('a rate is a positive number without an exponent', () => {
  assert.deepEqual(parseDecimal(' 7.150 '), { digits: 7150n, scale: 3 });
  for (const text of ['', '0', '0.0', '-7', '+7', '5e5', '7,15', '.5', '7.', 'NaN', '1234567890123']) {
    assert.equal(parseDecimal(text), null, text);
  }
});

describe('a price', () => {
  it('is read with all digits, also with an exponent', () => {
    assert.deepEqual(readDecimal(1.5e-7), { digits: 15n, scale: 8 });
    assert.deepEqual(readDecimal('0.000002'), { digits: 2n, scale: 6 });
    assert.deepEqual(readDecimal('2E3'), { digits: 2_000n, scale: 0 });
    for (const none of [-1, '-1', '', 'free', null, {}, Number.NaN, Number.POSITIVE_INFINITY, '1e9999']) {
      assert.equal(readDecimal(none), null);
    }
  });

  it('has the digits of the shortest text of a number', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (value) => {
        const { digits, scale } = readDecimal(value)!;
        assert.equal(Number(`${digits}e-${scale}`), value);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('is rounded once, at the end, halves up', () => {
    const rate = readDecimal('7.15')!;
    assert.equal(toNano(times(times(readDecimal(2.8e-7)!, readDecimal(1_000_000)!), rate)), 2_002_000_000n);
    assert.equal(toNano(readDecimal('0.0000000005')!), 1n);
    assert.equal(toNano(readDecimal('0.00000000049')!), 0n);
    assert.equal(toNano(withPercent(readDecimal('20')!)), 1_200_000_000n);
  });

  it('has a quotient only if that has at most nine decimals', () => {
    assert.deepEqual(quotient(readDecimal(4.25e-6)!, readDecimal(2.5e-6)!), { digits: 1_700_000_000n, scale: 9 });
    assert.equal(quotient(readDecimal(1)!, readDecimal(3)!), null);
    assert.equal(quotient(readDecimal(1)!, readDecimal(0)!), null);
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: 1, max: 1_000_000 }), (a, b) => {
        const found = quotient({ digits: BigInt(a), scale: 6 }, { digits: BigInt(b), scale: 3 });
        if (found !== null)
          assert.ok(isSame(times(found, { digits: BigInt(b), scale: 3 }), { digits: BigInt(a), scale: 6 }));
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });
});
