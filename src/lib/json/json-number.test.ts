import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isExactWhole } from './json-number.ts';

describe('isExactWhole', () => {
  it('finds numbers without a fraction in any notation', () => {
    for (const text of ['0', '-0', '10', '1.0', '1.50e1', '100e-2', '0.000', '0e-9'])
      assert.ok(isExactWhole(text), text);
    for (const text of ['0.5', '1e-1', '10e-2', '1.05e1', 'x', '']) assert.ok(!isExactWhole(text), text);
  });

  it('agrees with integers that are shifted by a power of ten', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.integer({ min: -40, max: 40 }), (digits, power) => {
        const isWhole = power >= 0 || digits % 10n ** BigInt(-power) === 0n;
        assert.equal(isExactWhole(`${digits}e${power}`), isWhole);
      }),
    );
  });
});
