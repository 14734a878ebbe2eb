import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { longRuns, tokenSamples } from '../../../scripts/token-samples.ts';
import { anyCharacter } from '../../../test/support/any-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { PIECE_BYTES_MAX } from './merge.ts';
import { Tokenizer } from './tokenizer.ts';

const tokenizer = new Tokenizer();
const plain = (text: string) => countTokens(text, { disallowedSpecial: new Set() });
const sameAsPlain = (text: string) => assert.equal(tokenizer.count(text), plain(text));

const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|endofprompt|>', '<|fim_prefix|>', '<|', '|>', 'end'];

describe('Tokenizer', () => {
  for (const { kind, text } of tokenSamples()) {
    it(`counts ${kind} exactly like the reference encoder`, () => sameAsPlain(text));
  }

  it('counts any text of code points exactly like the reference encoder', () => {
    // The reference encoder drops U+FEFF when decoding bytes and then looks up the wrong entry.
    const text = fc.string({ unit: anyCharacter, maxLength: 80 }).map((drawn) => drawn.replaceAll('\ufeff', ''));
    fc.assert(fc.property(text, sameAsPlain), { numRuns: propertyRuns(1_500) });
  });

  it('counts any text of graphemes exactly like the reference encoder', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), sameAsPlain), {
      numRuns: propertyRuns(1_500),
    });
  });

  it('counts repeated and concatenated text exactly like the reference encoder', () => {
    const unit = fc.oneof(
      fc.constantFrom(...SPECIAL, 'a', 'Ab', ' ', '\n', '中', '👩‍🚀', '=', '-_', 'é', 'QUJD', '\ud800'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }).map((drawn) => drawn.replaceAll('\ufeff', '')),
    );
    const stretch = fc.tuple(unit, fc.integer({ min: 1, max: 60 })).map(([text, times]) => text.repeat(times));
    const text = fc.array(stretch, { maxLength: 6 }).map((stretches) => stretches.join(''));
    fc.assert(fc.property(text, sameAsPlain), { numRuns: propertyRuns(400) });
  });

  it('treats special tokens as text', () => {
    assert.equal(tokenizer.count('x<|endoftext|>y'), 9);
    for (const text of SPECIAL) sameAsPlain(text);
  });

  it('counts nothing for an empty text, and one token for a byte order mark', () => {
    assert.equal(tokenizer.count(''), 0);
    assert.equal(tokenizer.count('\ufeff'), 1);
  });

  it('counts an unpaired surrogate as the replacement character', () => {
    assert.equal(tokenizer.count('a\ud800b'), tokenizer.count('a\ufffdb'));
  });

  for (const { kind, text } of longRuns()) {
    it(`is within 1 % of the reference encoder in a run without breaks: ${kind}`, () => {
      assert.ok(Buffer.byteLength(text) > 2 * PIECE_BYTES_MAX);
      const expected = plain(text);
      const counted = tokenizer.count(text);
      assert.ok(Math.abs(counted - expected) <= expected / 100, `${counted} for ${expected}`);
    });
  }

  /** Maximum bytes hashed and keys moved per byte of text. Spaces take the most, 60. */
  const STEPS_PER_BYTE_MAX = 100;
  const bytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, (_, i) => Math.imul(i, 2_654_435_761) >>> 24));
  const endless: readonly [kind: string, text: (sizeBytes: number) => string][] = [
    ['the letter a', (size) => 'a'.repeat(size)],
    ['the letter A', (size) => 'A'.repeat(size)],
    ['spaces', (size) => ' '.repeat(size)],
    ['line breaks', (size) => '\n'.repeat(size)],
    ['one emoji', (size) => '😀'.repeat(size / 4)],
    ['one Chinese character', (size) => '中'.repeat(size / 3)],
    ['base64', (size) => bytes((size * 3) / 4).toString('base64')],
    ['hexadecimal', (size) => bytes(size / 2).toString('hex')],
    ['special tokens', (size) => '<|endoftext|>'.repeat(size / 13)],
    ['brackets', (size) => '[],'.repeat(size / 3)],
  ];
  for (const [kind, text] of endless) {
    it(`does work in proportion to the size of 128 KiB of ${kind}`, () => {
      const stepsFor = (sizeBytes: number) => {
        const before = tokenizer.steps;
        assert.ok(tokenizer.count(text(sizeBytes)) > 0);
        return tokenizer.steps - before;
      };
      const half = stepsFor(2 ** 16);
      const whole = stepsFor(2 ** 17);
      assert.ok(whole <= half * 2.2, `${half} steps, then ${whole} for twice the size`);
      assert.ok(whole <= STEPS_PER_BYTE_MAX * 2 ** 17, `${whole} steps`);
    });
  }
});
