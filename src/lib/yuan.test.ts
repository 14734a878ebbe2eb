import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { formatYuan, NANO_PER_YUAN, parseYuan } from './yuan.ts';

const AMOUNT_MAX = 10n ** 24n - 1n;
const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });

describe('parseYuan', () => {
  const amounts: readonly [text: string, nano: bigint][] = [
    ['0', 0n],
    ['-0', 0n],
    ['0.30', 300_000_000n],
    ['-12', -12_000_000_000n],
    ['1.000000001', 1_000_000_001n],
    ['-0.000000001', -1n],
    ['007', 7_000_000_000n],
    ['999999999999999.999999999', AMOUNT_MAX],
  ];
  for (const [text, nano] of amounts) {
    it(`reads "${text}" as ${nano} nano-yuan`, () => {
      assert.equal(parseYuan(text), nano);
    });
  }

  for (const text of [
    '',
    '-',
    '.',
    '.5',
    '5.',
    '+1',
    '1e3',
    '1,000',
    '0x10',
    ' 1',
    '1 ',
    '1\n',
    '--1',
    '1.0000000001',
    '1000000000000000',
    '1.2.3',
    '¥1',
    '١',
    'NaN',
    'Infinity',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseYuan(text), null);
    });
  }

  it('reads every decimal exactly', () => {
    fc.assert(
      fc.property(fc.boolean(), digits(1, 15), digits(0, 9), (isNegative, whole, fraction) => {
        const nano = parseYuan(`${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`);
        const numerator = BigInt(`${whole}${fraction}`) * (isNegative ? -1n : 1n);
        assert.equal(nano! * 10n ** BigInt(fraction.length), numerator * NANO_PER_YUAN);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});

describe('formatYuan', () => {
  const texts: readonly [nano: bigint, text: string][] = [
    [0n, '0'],
    [300_000_000n, '0.3'],
    [-1n, '-0.000000001'],
    [1_000_000_000n, '1'],
    [-1_500_000_000n, '-1.5'],
    [100_000_000_000n, '100'],
    [9_223_372_036_854_775_807n, '9223372036.854775807'],
  ];
  for (const [nano, text] of texts) {
    it(`writes ${nano} nano-yuan as "${text}"`, () => {
      assert.equal(formatYuan(nano), text);
    });
  }

  it('writes the shortest text that parseYuan reads as the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -AMOUNT_MAX, max: AMOUNT_MAX }), fc.nat({ max: 9 }), (amount, zeros) => {
        const nano = amount - (amount % 10n ** BigInt(zeros));
        const text = formatYuan(nano);
        assert.equal(parseYuan(text), nano);
        assert.match(text, /^(0|-?([1-9]\d*|0\.0*[1-9]\d*|[1-9]\d*\.\d+))$/);
        assert.doesNotMatch(text, /\.\d*0$/);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
