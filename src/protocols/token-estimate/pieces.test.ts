import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { tokenSamples } from '../../../scripts/token-samples.ts';
import { anyCharacter } from '../../../test/support/any-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { pieceEnd } from './pieces.ts';

function pieces(text: string): string[] {
  const bytes = Buffer.from(text);
  const found: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = pieceEnd(bytes, start, bytes.length);
    found.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return found;
}

/** At least one character of every class and byte width, and those that the rules name. */
const UNITS = [
  ...['a', 'bc', 'é', 'ß', '𝐚', 'A', 'BC', 'É', 'ǅ', '𝐀', 'ʰ', '中', 'あ', 'ه', '한', '𠀀', '\u0301', '\u0903', '𑀀'],
  ...['1', '٣', '½', '𝟗', ' ', '  ', '\t', '\u00a0', '\u3000', '\ufeff', '\u0085', '\n', '\r', '\r\n', '\u2028'],
  ...[
    '.',
    '/',
    '//',
    '-',
    '_',
    '«',
    '€',
    '😀',
    '\u200d',
    "'",
    "'s",
    "'S",
    "'ll",
    "'lL",
    "'Ve",
    "'re",
    "'r",
    "'x",
    '’s',
  ],
];
const unitText = fc.array(fc.constantFrom(...UNITS), { maxLength: 24 }).map((units) => units.join(''));

describe('pieceEnd', () => {
  const cases: readonly [text: string, pieces: readonly string[]][] = [
    ['Hello, world', ['Hello', ',', ' world']],
    ["don't DON'T it'S", ["don't", " DON'T", " it'S"]],
    ['camelCaseHTML', ['camel', 'Case', 'HTML']],
    ['中AB!', ['中', 'AB', '!']],
    ['1234567', ['123', '456', '7']],
    ['a   b', ['a', '  ', ' b']],
    ['a \n \n  b', ['a', ' \n \n', ' ', ' b']],
    ['x //\n/y', ['x', ' //\n/', 'y']],
    ['\u0301AB', ['\u0301', 'AB']],
    ['end  ', ['end', '  ']],
  ];
  for (const [text, expected] of cases) {
    it(`cuts ${JSON.stringify(text)} into ${expected.length}`, () => assert.deepEqual(pieces(text), expected));
  }

  it('cuts like the o200k pattern, for any sequence of character classes', () => {
    fc.assert(
      fc.property(unitText, (text) => assert.deepEqual(pieces(text), text.match(O200K_TOKEN_SPLIT_REGEX) ?? [])),
      { numRuns: propertyRuns(5_000) },
    );
  });

  it('cuts like the o200k pattern, for any code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (text) => {
        assert.deepEqual(pieces(text), text.match(O200K_TOKEN_SPLIT_REGEX) ?? []);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('cuts the samples like the o200k pattern', () => {
    for (const { kind, text } of tokenSamples()) {
      assert.deepEqual(pieces(text), text.match(O200K_TOKEN_SPLIT_REGEX), kind);
    }
  });

  it('reads each byte only a few times, however the text repeats', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...UNITS), { minLength: 1, maxLength: 4 }), unitText, (units, tail) => {
        const bytes = Buffer.from(units.join('').repeat(200) + tail);
        let reads = 0;
        const watched = new Proxy(bytes, {
          get(target, key) {
            reads++;
            return Reflect.get(target, key, target);
          },
        });
        for (let start = 0; start < bytes.length; ) start = pieceEnd(watched, start, bytes.length);
        assert.ok(reads <= bytes.length * 12, `${reads} reads of ${bytes.length} bytes`);
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
