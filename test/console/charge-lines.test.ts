import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Call } from '../../console/src/api/types.ts';
import { chargeLines, factorsOf } from '../../console/src/features/calls/charge-lines.ts';
import { addYuan, compareYuan, enteredNano, fromNano, times, toNano } from '../../console/src/text/yuan.ts';
import { type ChargedRecord, recomputedCharge } from '../support/recomputed-charge.ts';
import { propertyRuns } from '../support/scope.ts';

/** An amount with up to nine decimals. */
const amount = fc.bigInt({ min: 0n, max: 10n ** 14n }).map(fromNano);
const count = fc.nat({ max: 3_000_000 });

const prices = fc.record({
  inputYuanPerMillion: amount,
  cachedInputYuanPerMillion: amount,
  cacheWriteYuanPerMillion: amount,
  outputYuanPerMillion: amount,
});
const usage = fc.record({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteTokens: count,
  cacheWrite1hTokens: count,
  imageInputTokens: count,
  audioInputTokens: count,
  citationTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  imageOutputTokens: count,
  audioOutputTokens: count,
  webSearches: fc.nat({ max: 9 }),
});

const tokenCall = fc
  .record({
    prices,
    variants: fc.tuple(prices, prices, prices, prices),
    usage,
    isLong: fc.boolean(),
    written: fc.constantFrom({}, { thinking: true }, { outputAbove: '200' }),
    perWebSearchYuan: amount,
    isPriority: fc.boolean(),
  })
  .map(({ prices: list, variants, usage: counts, isLong, written, perWebSearchYuan, isPriority }) => ({
    operation: 'chat',
    usage: counts,
    innerModels: [],
    priceFactorBasisPoints: 10_000,
    price: {
      rule: 'base',
      ...list,
      perWebSearchYuan,
      citationsYuanPerMillion: '3',
      thinking: variants[0],
      outputAbove: { '200': variants[1] },
      above: { '128000': { ...list, thinking: variants[2], outputAbove: { '200': variants[3] } } },
      serviceTiers: { priority: '1.5' },
    },
    pricedBy: {
      ...(isLong ? { above: '128000' } : {}),
      ...written,
      ...(isPriority ? { serviceTier: 'priority' } : {}),
    },
  }));

const otherCall = fc.oneof(
  fc.record({ perCallYuan: amount }).map((price) => record('rerank', price, { searchUnits: 3 }, null)),
  fc
    .record({ price: amount, searchUnits: count })
    .map(({ price, searchUnits }) => record('rerank', { perSearchUnitYuan: price }, { searchUnits }, null)),
  fc
    .record({ images: fc.integer({ min: 1, max: 9 }), price: amount, dearer: amount, isListed: fc.boolean() })
    .map(({ images, price, dearer, isListed }) =>
      record(
        'images.generate',
        { perImageYuan: { default: price, high: dearer } },
        { images },
        {
          ...(isListed ? { images: [{ count: images, priceYuan: dearer }] } : {}),
        },
      ),
    ),
);

function record(operation: string, price: object, counts: object, pricedBy: object | null) {
  const whole = { rule: 'base', ...price };
  return { operation, usage: counts, innerModels: [], priceFactorBasisPoints: 10_000, price: whole, pricedBy };
}

describe('the lines of a charge', () => {
  it('sum to the recorded charge after factors and one rounding', () => {
    fc.assert(
      fc.property(fc.oneof(tokenCall, otherCall), (given) => {
        const call = given as unknown as Call;
        const lines = chargeLines(call);
        const factor = factorsOf(call.price, call.pricedBy).length === 0 ? 10n : 15n;
        // In units of 1e-16 yuan: nine decimals of a price, six of a million, one of a factor.
        const exact = lines.reduce((sum, { amountYuan, per }) => {
          const [whole = '0', decimals = ''] = amountYuan.split('.');
          return sum + BigInt(whole + decimals.padEnd(15, '0')) * (per === 'million' ? factor : 10n);
        }, 0n);
        const unit = 10n ** 7n;
        const rounded = (2n * exact + unit) / (2n * unit);
        assert.equal(rounded, recomputedCharge(given as unknown as ChargedRecord));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('separate models named inside the request from the requested model', () => {
    const call = {
      ...record(
        'messages',
        { inputYuanPerMillion: '2', outputYuanPerMillion: '8' },
        { inputTokens: 100, outputTokens: 30 },
        null,
      ),
      model: 'called',
      innerModels: [
        {
          model: 'inner',
          usage: { inputTokens: 40, outputTokens: 10 },
          price: { rule: 'base', inputYuanPerMillion: '1', outputYuanPerMillion: '1' },
          pricedBy: null,
        },
      ],
    };
    assert.deepEqual(
      chargeLines(call as unknown as Call).map(({ model, unit, count: each, amountYuan }) => [
        model,
        unit,
        each,
        amountYuan,
      ]),
      [
        ['called', 'inputTokens', 60, '0.00012'],
        ['called', 'outputTokens', 20, '0.00016'],
        ['inner', 'inputTokens', 40, '0.00004'],
        ['inner', 'outputTokens', 10, '0.00001'],
      ],
    );
  });

  it('are exact where floating point numbers are not', () => {
    assert.equal(times('0.000000001', 3, 6), '0.000000000000003');
    assert.equal(times('12345678.123456789', 999_999_999, 0), '12345678111111110.876543211');
    assert.equal(times('4', 0, 6), '0');
  });
});

describe('amounts in the console', () => {
  const nano = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });

  it('are parsed and written exactly, and added and compared as integers', () => {
    fc.assert(
      fc.property(nano, nano, (a, b) => {
        assert.equal(toNano(fromNano(a)), a);
        assert.equal(addYuan(fromNano(a), fromNano(b)), fromNano(a + b));
        assert.equal(Math.sign(compareYuan(fromNano(a), fromNano(b))), a === b ? 0 : a < b ? -1 : 1);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('are rejected if they are malformed', () => {
    for (const text of ['', '1e3', '1,5', '.5', '5.', '1.1234567890', 'NaN', '--1', '１'])
      assert.equal(enteredNano(text), null, text);
    assert.equal(enteredNano(' -12.50 '), -12_500_000_000n);
  });
});
