import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { type ChargeBasis, noUsage, TOKEN_COUNT_MAX, type Usage } from '../../protocols/metering/usage-facts.ts';
import { byUnit } from '../../protocols/metering/usage-units.ts';
import { operationOf, operations } from '../../protocols/operations/all.ts';
import { chargeBasis, chargeFor, type UnitPrices } from './charge.ts';
import { atPriceFactor, LIST_PRICE_BASIS_POINTS, PRICE_FACTOR_BASIS_POINTS_MAX } from './price-factor.ts';

/** Primes, so that a count at a wrong price cannot produce the right sum. */
const prices: UnitPrices = {
  inputNanoPerMillion: 3_000_000_000n,
  cachedInputNanoPerMillion: 700_000_000n,
  cacheWriteNanoPerMillion: 5_000_000_000n,
  cacheWrite1hNanoPerMillion: 11_000_000_000n,
  imageInputNanoPerMillion: 17_000_000_000n,
  outputNanoPerMillion: 13_000_000_000n,
  imageOutputNanoPerMillion: 19_000_000_000n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

const free: UnitPrices = {
  inputNanoPerMillion: 0n,
  cachedInputNanoPerMillion: 0n,
  cacheWriteNanoPerMillion: 0n,
  cacheWrite1hNanoPerMillion: 0n,
  imageInputNanoPerMillion: 0n,
  outputNanoPerMillion: 0n,
  imageOutputNanoPerMillion: 0n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

/** A fraction in lowest terms. */
class Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;

  constructor(numerator: bigint, denominator: bigint) {
    const divisor = gcd(numerator, denominator);
    this.numerator = numerator / divisor;
    this.denominator = denominator / divisor;
  }

  plus(other: Rational): Rational {
    return new Rational(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  times(other: Rational): Rational {
    return new Rational(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  /** The nearest integer; a half rounds up. */
  roundedHalfUp(): bigint {
    const below = this.numerator / this.denominator;
    const rest = this.numerator - below * this.denominator;
    return rest + rest < this.denominator ? below : below + 1n;
  }
}

function gcd(left: bigint, right: bigint): bigint {
  return right === 0n ? left : gcd(right, left % right);
}

/** An independent calculation of the charge. */
function referenceCharge(usage: Usage, at: UnitPrices, basisPoints = 10_000): bigint {
  const length =
    usage.inputTokens +
    usage.cachedInputTokens +
    usage.cacheWriteTokens +
    usage.cacheWrite1hTokens +
    usage.imageInputTokens +
    usage.audioInputTokens +
    usage.citationTokens;
  const step = Object.keys(at.above ?? {})
    .map(Number)
    .filter((above) => length > above)
    .reduce((greatest, above) => Math.max(greatest, above), 0);
  const ofInput = step === 0 ? at : at.above![String(step)]!;
  const written =
    usage.outputTokens + usage.imageOutputTokens + usage.audioOutputTokens + usage.separateReasoningTokens;
  const longer = Object.keys(ofInput.outputAbove ?? {})
    .map(Number)
    .filter((above) => written > above)
    .reduce((greatest, above) => Math.max(greatest, above), 0);
  const ofOutput = longer === 0 ? ofInput : ofInput.outputAbove![String(longer)]!;
  const list = usage.reasoningTokens > 0 && ofInput.thinking !== undefined ? ofInput.thinking : ofOutput;
  const tokens: readonly [count: number, nanoPerMillion: bigint][] = [
    [usage.inputTokens, list.inputNanoPerMillion],
    [usage.cachedInputTokens, list.cachedInputNanoPerMillion],
    [usage.cacheWriteTokens, list.cacheWriteNanoPerMillion],
    [usage.cacheWrite1hTokens, list.cacheWrite1hNanoPerMillion],
    [usage.imageInputTokens, list.imageInputNanoPerMillion],
    [usage.audioInputTokens, list.audioInputNanoPerMillion ?? list.inputNanoPerMillion],
    [usage.outputTokens, list.outputNanoPerMillion],
    [usage.imageOutputTokens, list.imageOutputNanoPerMillion],
    [usage.audioOutputTokens, list.audioOutputNanoPerMillion ?? list.outputNanoPerMillion],
    [usage.citationTokens, list.citationsNanoPerMillion ?? 0n],
    [usage.separateReasoningTokens, list.reasoningNanoPerMillion ?? 0n],
  ];
  const factors = [
    at.serviceTiers?.[usage.servedOn?.serviceTier ?? ''],
    at.speeds?.[usage.servedOn?.speed ?? ''],
    at.inferenceGeos?.[usage.servedOn?.inferenceGeo ?? ''],
  ].map((nano) => new Rational(nano ?? 1_000_000_000n, 1_000_000_000n));
  const uses: readonly [count: number, nano: bigint][] = [
    [usage.webSearches, at.perWebSearchNano ?? 0n],
    [usage.webFetches, at.perWebFetchNano ?? 0n],
    [usage.fileSearches, at.perFileSearchNano ?? 0n],
    [usage.codeExecutions, at.perCodeExecutionNano ?? 0n],
    [usage.containers, at.perContainerNano ?? 0n],
    [usage.otherToolUses, at.perToolUseNano ?? 0n],
  ];
  return [
    ...tokens.map(([count, nanoPerMillion]) =>
      factors.reduce((part, factor) => part.times(factor), new Rational(BigInt(count) * nanoPerMillion, 1_000_000n)),
    ),
    ...uses.map(([count, nano]) => new Rational(BigInt(count) * nano, 1n)),
  ]
    .reduce((sum, part) => sum.plus(part), new Rational(0n, 1n))
    .times(new Rational(BigInt(basisPoints), 10_000n))
    .roundedHalfUp();
}

const count = fc.oneof(fc.nat({ max: 1_000 }), fc.nat({ max: TOKEN_COUNT_MAX }));
const term = fc.constantFrom('default', 'flex', 'fast', 'us');
const usage: fc.Arbitrary<Usage> = fc
  .tuple(
    fc.record(byUnit(() => count)),
    fc.option(fc.record({ serviceTier: term, speed: term, inferenceGeo: term }, { requiredKeys: [] })),
  )
  .map(([counts, servedOn]) => ({ ...counts, images: [], ...(servedOn && { servedOn }) }));
const price = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }),
  fc.constant(500_000n),
);
const tokenPrices = {
  inputNanoPerMillion: price,
  cachedInputNanoPerMillion: price,
  cacheWriteNanoPerMillion: price,
  cacheWrite1hNanoPerMillion: price,
  imageInputNanoPerMillion: price,
  audioInputNanoPerMillion: price,
  outputNanoPerMillion: price,
  imageOutputNanoPerMillion: price,
  audioOutputNanoPerMillion: price,
  citationsNanoPerMillion: price,
  reasoningNanoPerMillion: price,
};
const markedPrices = [
  ...(['audioInputNanoPerMillion', 'audioOutputNanoPerMillion'] as const),
  ...(['citationsNanoPerMillion', 'reasoningNanoPerMillion'] as const),
];
const requiredTokenPrices = (Object.keys(tokenPrices) as (keyof typeof tokenPrices)[]).filter(
  (key) => !markedPrices.some((marked) => marked === key),
);
const factors = fc.dictionary(term, fc.oneof(fc.constant(500_000_000n), fc.bigInt({ min: 0n, max: 10n ** 10n })));
const variant = fc.record(tokenPrices, { requiredKeys: requiredTokenPrices as (keyof typeof tokenPrices)[] });
const lengths = <Step>(of: fc.Arbitrary<Step>) => fc.dictionary(fc.integer({ min: 1, max: 8_000_000 }).map(String), of);
const runPrices = { ...tokenPrices, thinking: variant, outputAbove: lengths(variant) };
const step = fc.record(runPrices, { requiredKeys: requiredTokenPrices as (keyof typeof tokenPrices)[] });
const priceList = fc.record(
  {
    ...runPrices,
    perImageNano: fc.constant(null),
    perSearchUnitNano: fc.constant(null),
    perCallNano: fc.constant(null),
    perWebSearchNano: price,
    perWebFetchNano: price,
    perFileSearchNano: price,
    perCodeExecutionNano: price,
    perContainerNano: price,
    perToolUseNano: price,
    above: lengths(step),
    serviceTiers: factors,
    speeds: factors,
    inferenceGeos: factors,
  },
  { requiredKeys: [...requiredTokenPrices, 'perImageNano', 'perSearchUnitNano', 'perCallNano'] },
) as fc.Arbitrary<UnitPrices>;

const chargeTokens = (used: Usage, at: UnitPrices): bigint => chargeFor(used, at, 'tokens');

describe('a charge by tokens', () => {
  it('is the exact sum of count x price, rounded half up once', () => {
    fc.assert(
      fc.property(usage, priceList, (used, at) => {
        assert.equal(chargeTokens(used, at), referenceCharge(used, at));
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('charges each count at its own price', () => {
    const used = {
      ...noUsage,
      inputTokens: 1,
      cachedInputTokens: 10,
      cacheWriteTokens: 100,
      cacheWrite1hTokens: 1_000,
      imageInputTokens: 100_000,
      imageOutputTokens: 1_000_000,
    };
    assert.equal(
      chargeTokens({ ...used, outputTokens: 10_000 }, prices),
      3_000n + 7_000n + 500_000n + 11_000_000n + 130_000_000n + 1_700_000_000n + 19_000_000_000n,
    );
  });

  it('does not charge reasoning on top of the output that it is part of', () => {
    const used = { ...noUsage, outputTokens: 10 };
    assert.equal(chargeTokens({ ...used, reasoningTokens: 10 }, prices), chargeTokens(used, prices));
  });

  it('applies the highest step that the input exceeds to the whole call', () => {
    const at: UnitPrices = {
      ...free,
      inputNanoPerMillion: 1_000_000n,
      above: {
        '100': { ...free, inputNanoPerMillion: 2_000_000n },
        '1000': { ...free, inputNanoPerMillion: 5_000_000n },
      },
    };
    const costs = (inputTokens: number, cachedInputTokens = 0) =>
      chargeTokens({ ...noUsage, inputTokens, cachedInputTokens }, at);
    assert.deepEqual(
      [costs(100), costs(101), costs(1_000), costs(1_001), costs(1, 100)],
      [100n, 202n, 2_000n, 5_005n, 2n],
    );
  });

  it('applies the reasoning prices of the input step if the provider reports reasoning', () => {
    const at: UnitPrices = {
      ...free,
      outputNanoPerMillion: 1_000_000n,
      thinking: { ...free, outputNanoPerMillion: 4_000_000n },
      above: {
        '100': { ...free, outputNanoPerMillion: 2_000_000n, thinking: { ...free, outputNanoPerMillion: 8_000_000n } },
        '1000': { ...free, outputNanoPerMillion: 3_000_000n },
      },
    };
    const costs = (inputTokens: number, reasoningTokens: number) =>
      chargeTokens({ ...noUsage, inputTokens, outputTokens: 10, reasoningTokens }, at);
    assert.deepEqual(
      [costs(1, 0), costs(1, 1), costs(101, 0), costs(101, 10), costs(1_001, 10)],
      [10n, 40n, 20n, 80n, 30n],
    );
  });

  it('applies the prices of the highest exceeded output length to input and output', () => {
    const at: UnitPrices = {
      ...free,
      inputNanoPerMillion: 2_000_000n,
      outputNanoPerMillion: 8_000_000n,
      outputAbove: { '200': { ...free, inputNanoPerMillion: 3_000_000n, outputNanoPerMillion: 14_000_000n } },
      above: { '1000': { ...free, inputNanoPerMillion: 4_000_000n, outputNanoPerMillion: 16_000_000n } },
    };
    const costs = (inputTokens: number, outputTokens: number) =>
      chargeTokens({ ...noUsage, inputTokens, outputTokens }, at);
    assert.deepEqual([costs(10, 200), costs(10, 201), costs(1_001, 201)], [1_620n, 2_844n, 7_220n]);
  });

  it('charges separately counted citations and reasoning at their own prices, or nothing', () => {
    const used = { ...noUsage, citationTokens: 10, separateReasoningTokens: 100 };
    assert.equal(chargeTokens(used, prices), 0n);
    const priced = { ...prices, citationsNanoPerMillion: 2_000_000n, reasoningNanoPerMillion: 3_000_000n };
    assert.equal(chargeTokens(used, priced), 320n);
  });

  it('applies the factors of reported service terms to tokens only', () => {
    const at: UnitPrices = {
      ...free,
      inputNanoPerMillion: 1_000_000n,
      perWebSearchNano: 7n,
      serviceTiers: { flex: 500_000_000n },
      speeds: { fast: 6_000_000_000n },
      inferenceGeos: { us: 1_100_000_000n },
    };
    const used = { ...noUsage, inputTokens: 100, webSearches: 1 };
    const on = (servedOn: Usage['servedOn'] & object) => chargeTokens({ ...used, servedOn }, at);
    assert.deepEqual(
      [on({}), on({ serviceTier: 'flex' }), on({ serviceTier: 'default' }), on({ serviceTier: 'scale' })],
      [107n, 57n, 107n, 107n],
    );
    assert.equal(on({ speed: 'fast', inferenceGeo: 'us' }), 667n);
    assert.equal(on({ serviceTier: 'constructor', speed: '__proto__' }), 107n);
  });

  it('charges audio as text, and tool uses nothing, if they have no price', () => {
    const used = { ...noUsage, audioInputTokens: 10, audioOutputTokens: 100, webSearches: 3, containers: 1 };
    assert.equal(chargeTokens(used, prices), 30_000n + 1_300_000n);
    const priced = {
      ...prices,
      audioInputNanoPerMillion: 1_000_000n,
      audioOutputNanoPerMillion: 2_000_000n,
      perWebSearchNano: 5n,
      perContainerNano: 1_000n,
    };
    assert.equal(chargeTokens(used, priced), 10n + 200n + 15n + 1_000n);
  });

  it('is zero without usage', () => {
    assert.equal(chargeTokens(noUsage, prices), 0n);
  });

  it('rounds a half of a nano-yuan up and anything less down', () => {
    const at = (inputNanoPerMillion: bigint) =>
      chargeTokens({ ...noUsage, inputTokens: 1 }, { ...free, inputNanoPerMillion });
    assert.deepEqual([at(499_999n), at(500_000n), at(1_499_999n), at(1_500_000n)], [0n, 1n, 1n, 2n]);
  });

  it('rounds the sum, not its parts', () => {
    const half = { ...free, inputNanoPerMillion: 400_000n, outputNanoPerMillion: 400_000n };
    assert.equal(chargeTokens({ ...noUsage, inputTokens: 1, outputTokens: 1 }, half), 1n);
  });

  it('stays exact where a floating point number would not', () => {
    const used = { ...noUsage, inputTokens: TOKEN_COUNT_MAX };
    assert.equal(
      chargeTokens(used, { ...free, inputNanoPerMillion: 1_000_000_000_000_001n }),
      2_147_483_647_000_002_147n,
    );
  });
});

describe('a charge by images, search units or calls', () => {
  const used: Usage = {
    ...noUsage,
    inputTokens: 1_000_000,
    imageOutputTokens: 1_000_000,
    searchUnits: 3,
    images: [
      { quality: 'low', size: '1024x1024', count: 2 },
      { quality: 'high', size: '1024x1536', count: 1 },
    ],
  };

  it('charges each image at its own price', () => {
    const perImageNano = { low: 5n, high: { '1024x1536': 70n } };
    assert.equal(chargeFor(used, { ...prices, perImageNano }, 'images'), 80n);
  });

  it('charges each search unit', () => {
    assert.equal(chargeFor(used, { ...prices, perSearchUnitNano: 11n }, 'searchUnits'), 33n);
  });

  it('is the price per call, whatever was used', () => {
    assert.equal(chargeFor(used, { ...prices, perCallNano: 11n }, 'calls'), 11n);
    assert.equal(chargeFor(noUsage, { ...prices, perCallNano: 11n }, 'calls'), 11n);
  });
});

const basisPoints = fc.oneof(
  fc.constantFrom(0, 1, 9_999, LIST_PRICE_BASIS_POINTS, 10_001, PRICE_FACTOR_BASIS_POINTS_MAX),
  fc.integer({ min: 0, max: PRICE_FACTOR_BASIS_POINTS_MAX }),
);

describe('a charge at the price factor of an account', () => {
  const atFactor = (used: Usage, at: UnitPrices, factor: number, basis: ChargeBasis = 'tokens') =>
    chargeFor(used, at, basis, undefined, factor);

  it('is the exact sum of count x price x factor, rounded half up once', () => {
    fc.assert(
      fc.property(usage, priceList, basisPoints, (used, at, factor) => {
        assert.equal(atFactor(used, at, factor), referenceCharge(used, at, factor));
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('is never less at a higher factor, and never above the list price at 10000 or less', () => {
    fc.assert(
      fc.property(usage, priceList, basisPoints, basisPoints, (used, at, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        assert.ok(atFactor(used, at, low) <= atFactor(used, at, high));
        const listNano = chargeTokens(used, at);
        assert.equal(atFactor(used, at, LIST_PRICE_BASIS_POINTS), listNano);
        assert.ok(low > LIST_PRICE_BASIS_POINTS || atFactor(used, at, low) <= listNano);
        assert.equal(atFactor(used, at, 0), 0n);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('does not round before the factor is applied', () => {
    const at = (inputNanoPerMillion: bigint) => ({ ...free, inputNanoPerMillion });
    const one = { ...noUsage, inputTokens: 1 };
    // 0.4 at the list price, 0.8 and so 1 at twice that; 0.625 x 0.8 is exactly a half.
    assert.deepEqual([atFactor(one, at(400_000n), 20_000), atFactor(one, at(625_000n), 8_000)], [1n, 1n]);
    assert.equal(atFactor(one, at(624_999n), 8_000), 0n);
  });

  it('applies to images, search units and calls, too', () => {
    const used: Usage = { ...noUsage, searchUnits: 3, images: [{ quality: 'low', size: '1024x1024', count: 3 }] };
    assert.equal(atFactor(used, { ...prices, perImageNano: { default: 7n } }, 8_000, 'images'), 17n);
    assert.equal(atFactor(used, { ...prices, perSearchUnitNano: 11n }, 5_000, 'searchUnits'), 17n);
    assert.equal(atFactor(used, { ...prices, perCallNano: 11n }, 12_500, 'calls'), 14n);
  });

  it('equals the factor on an amount that is whole at the list price', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), basisPoints, (amountNano, factor) => {
        const expected = new Rational(amountNano * BigInt(factor), 10_000n).roundedHalfUp();
        assert.equal(atPriceFactor(amountNano, factor), expected);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});

describe('the basis of a charge', () => {
  const perImageNano = { default: 1n };
  it('is tokens if there is no other price', () => {
    for (const operation of operations) assert.equal(chargeBasis(operation, prices), 'tokens');
  });

  it('is images for the image operations of a model with a price per image, and tokens for its others', () => {
    const priced = { ...prices, perImageNano };
    assert.equal(chargeBasis(operationOf('images.generate'), priced), 'images');
    assert.equal(chargeBasis(operationOf('images.edit'), priced), 'images');
    assert.equal(chargeBasis(operationOf('responses'), priced), 'tokens');
  });

  it('is search units or calls for rerank with such a price', () => {
    assert.equal(chargeBasis(operationOf('rerank'), { ...prices, perSearchUnitNano: 1n }), 'searchUnits');
    assert.equal(chargeBasis(operationOf('rerank'), { ...prices, perCallNano: 1n }), 'calls');
    assert.equal(chargeBasis(operationOf('chat'), { ...prices, perCallNano: 1n }), 'tokens');
  });
});
