import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { atPriceFactor, basisPointsOf, percentOf } from '../../console/src/parts/basis-points.ts';
import { fromNano, times } from '../../console/src/text/yuan.ts';
import { PRICE_FACTOR_BASIS_POINTS_MAX, roundedAtFactor } from '../../src/accounting/pricing/price-factor.ts';
import { propertyRuns } from '../support/scope.ts';

const MILLION = 1_000_000n;
const factors = fc.integer({ min: 0, max: PRICE_FACTOR_BASIS_POINTS_MAX });

describe('the price that an account pays', () => {
  it('is exact: times a count and rounded once, it is what the gateway charges', () => {
    const prices = fc.bigInt({ min: 0n, max: 10n ** 15n });
    fc.assert(
      fc.property(prices, factors, fc.nat({ max: 3_000_000 }), (listNano, factor, count) => {
        const own = atPriceFactor(fromNano(listNano), factor);
        const [whole = '0', decimals = ''] = times(own, count, 6).split('.');
        // Nine decimals of nano-yuan, four of the factor, six of a million.
        const exact = BigInt(whole + decimals.padEnd(19, '0'));
        const unit = 10n ** 10n;
        const charged = (2n * exact + unit) / (2n * unit);
        assert.equal(charged, roundedAtFactor(listNano * BigInt(count), MILLION, factor));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('keeps all decimals, unlike floating point numbers', () => {
    assert.equal(atPriceFactor('0.7', 8000), '0.56');
    assert.equal(atPriceFactor('1.1', 11_000), '1.21');
    assert.equal(atPriceFactor('0.000000001', 1), '0.0000000000001');
    assert.equal(atPriceFactor('3', 10_000), '3');
    assert.equal(atPriceFactor('16', 0), '0');
  });

  it('converts basis points to percent and back without loss', () => {
    assert.deepEqual([0, 1, 50, 8000, 8888, 10_000, 12_345].map(percentOf), [
      '0',
      '0.01',
      '0.5',
      '80',
      '88.88',
      '100',
      '123.45',
    ]);
    fc.assert(
      fc.property(factors, (factor) => assert.equal(basisPointsOf(percentOf(factor)), factor)),
      { numRuns: propertyRuns(200) },
    );
  });
});
