import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDecimal } from '../../../lib/decimal.ts';
import { unitsToNano } from './read-books.ts';

const yuan = (units: bigint, unitsPerDollar: string, usdCny: string): bigint =>
  unitsToNano(units, parseDecimal(unitsPerDollar)!, parseDecimal(usdCny)!);

describe('units of quota', () => {
  it('are converted exactly if the result has whole nano-yuan', () => {
    assert.equal(yuan(500_000n, '500000', '7.15'), 7_150_000_000n);
    assert.equal(yuan(1n, '500000', '7.15'), 14_300n);
    assert.equal(yuan(12_343_627n, '500000', '7.15'), 176_513_866_100n);
    assert.equal(yuan(9_007_199_254_740_993n, '500000', '1'), 18_014_398_509_481_986_000n, 'beyond the exact floats');
  });

  it('are rounded to the nearest nano-yuan, halves away from zero', () => {
    assert.equal(yuan(1n, '3', '1'), 333_333_333n);
    assert.equal(yuan(2n, '3', '1'), 666_666_667n);
    assert.equal(yuan(1n, '2000000000', '1'), 1n);
    assert.equal(yuan(-1n, '2000000000', '1'), -1n);
    assert.equal(yuan(-2n, '3', '1'), -666_666_667n);
  });

  it('may be a fraction per dollar', () => {
    assert.equal(yuan(5n, '2.5', '7'), 14_000_000_000n);
  });
});
