import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { audioBudget, fileBudget, opaqueBudget, totalTokens } from './budgets.ts';

const KIB = 2 ** 10;
const MIB = 2 ** 20;

describe('totalTokens', () => {
  it('adds 10 % and rounds up, exactly', () => {
    const total = (textTokens: number, budgetTokens: number, factor: number) =>
      totalTokens({ textTokens, budgetTokens }, factor);
    assert.equal(total(0, 0, 1), 0);
    assert.equal(total(10, 0, 1), 11);
    assert.equal(total(100, 0, 1), 110);
    assert.equal(total(1, 0, 1), 2);
    assert.equal(total(100, 0, 1.2), 132);
    assert.equal(total(1_000, 0, 1.55), 1_705);
  });

  it('multiplies only text by the factor, not budgets', () => {
    assert.equal(totalTokens({ textTokens: 100, budgetTokens: 3_000 }, 1.5), 3_465);
    assert.equal(totalTokens({ textTokens: 0, budgetTokens: 3_000 }, 2), 3_300);
  });

  it('equals the exact rational number rounded up, for any count and any factor with four decimals', () => {
    const count = fc.integer({ min: 0, max: 50_000_000 });
    fc.assert(
      fc.property(count, count, fc.integer({ min: 1_000, max: 100_000 }), (textTokens, budgetTokens, units) => {
        const exact = (BigInt(textTokens) * BigInt(units) + BigInt(budgetTokens) * 10_000n) * 11n;
        const expected = (exact + 99_999n) / 100_000n;
        assert.equal(BigInt(totalTokens({ textTokens, budgetTokens }, units / 10_000)), expected);
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });
});

describe('budgets by size', () => {
  it('uses the lowest file tier that includes the size', () => {
    const sizes = [0, 64 * KIB, 64 * KIB + 1, MIB, MIB + 1, 8 * MIB, 8 * MIB + 1, 1_000 * MIB];
    const budgets = [8_000, 8_000, 48_000, 48_000, 160_000, 160_000, 400_000, 400_000];
    assert.deepEqual(sizes.map(fileBudget), budgets);
  });

  it('counts 1,000 tokens per 64 KiB of audio, rounded up', () => {
    assert.deepEqual([0, 1, 64 * KIB, 64 * KIB + 1, MIB].map(audioBudget), [1_000, 1_000, 1_000, 2_000, 16_000]);
  });

  it('counts one token per 4 encrypted bytes, rounded up', () => {
    assert.deepEqual([0, 1, 4, 5, 4_000].map(opaqueBudget), [0, 1, 1, 2, 1_000]);
  });
});
