import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { earnedNano } from './earned-nano.ts';

const periods = fc.record({ priceNano: fc.bigInt(0n, 10n ** 18n), days: fc.integer({ min: 1, max: 4_000 }) });

describe('the revenue of a period', () => {
  it('is the price over all its days, and nothing before', () => {
    fc.assert(
      fc.property(periods, ({ priceNano, days }) => {
        assert.equal(earnedNano(priceNano, days, 0), 0n);
        assert.equal(earnedNano(priceNano, days, days), priceNano);
        assert.equal(earnedNano(priceNano, days, days + 1), priceNano);
      }),
    );
  });

  it('differs by at most a nano-yuan between days, and never increases', () => {
    fc.assert(
      fc.property(periods, fc.nat(4_000), ({ priceNano, days }, at) => {
        const day = at % days;
        const ofDay = (which: number): bigint =>
          earnedNano(priceNano, days, which + 1) - earnedNano(priceNano, days, which);
        const least = priceNano / BigInt(days);
        assert.ok(ofDay(day) === least || ofDay(day) === least + 1n);
        if (day > 0) assert.ok(ofDay(day) <= ofDay(day - 1));
      }),
    );
  });
});
