import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { Merger, PIECE_BYTES_MAX } from './merge.ts';
import { NO_RANK, Vocabulary } from './vocabulary.ts';

const entries = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));

function countWith(vocabulary: Vocabulary, text: string): number {
  const bytes = Buffer.from(text);
  return new Merger(vocabulary).count(bytes, 0, bytes.length);
}

/** The definition, implemented literally: merge the lowest-ranked pair, leftmost first, until there is none. */
function countByDefinition(vocabulary: Vocabulary, text: string): number {
  const rank = (part: string) => vocabulary.rank(Buffer.from(part), 0, part.length);
  const parts = [...text];
  for (;;) {
    const ranks = parts.slice(1).map((part, index) => rank(parts[index]! + part));
    const lowest = Math.min(...ranks, NO_RANK);
    if (lowest === NO_RANK) return parts.length;
    const at = ranks.indexOf(lowest);
    parts.splice(at, 2, parts[at]! + parts[at + 1]!);
  }
}

describe('Vocabulary', () => {
  it('finds every entry by its bytes, and nothing else', () => {
    const texts = ['a', 'b', 'ab', 'abc', 'ba', 'é', '中'];
    const vocabulary = new Vocabulary(entries(...texts));
    assert.equal(vocabulary.size, 7);
    assert.equal(vocabulary.entryBytesMax, 3);
    for (const [rank, text] of texts.entries()) {
      const bytes = Buffer.from(`x${text}y`);
      assert.equal(vocabulary.rank(bytes, 1, bytes.length - 1), rank, text);
    }
    for (const text of ['c', 'bb', 'abb', 'abcd']) {
      assert.equal(vocabulary.rank(Buffer.from(text), 0, text.length), NO_RANK, text);
    }
  });
});

describe('Merger', () => {
  it('merges the lowest-ranked pair first, even if another precedes it', () => {
    const vocabulary = new Vocabulary(entries('a', 'b', 'c', 'bc', 'ab', 'abc'));
    assert.equal(countWith(vocabulary, 'abc'), 1);
    assert.equal(countWith(vocabulary, 'abcab'), 2);
    assert.equal(countWith(new Vocabulary(entries('a', 'b', 'c', 'bc', 'ab')), 'abc'), 2);
  });

  it('merges the leftmost of equal pairs first', () => {
    assert.equal(countWith(new Vocabulary(entries('a', 'aa')), 'aaa'), 2);
    assert.equal(countWith(new Vocabulary(entries('a', 'b', 'aa', 'aab')), 'aaab'), 3);
  });

  it('counts according to the definition, for any vocabulary and consecutive pieces', () => {
    const entry = fc.stringMatching(/^[abc]{2,5}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { maxLength: 25 }),
        fc.array(fc.stringMatching(/^[abc]{1,40}$/)),
        (drawn, texts) => {
          const vocabulary = new Vocabulary(entries('a', 'b', 'c', ...drawn));
          const merger = new Merger(vocabulary);
          for (const text of texts) {
            assert.equal(merger.count(Buffer.from(text), 0, text.length), countByDefinition(vocabulary, text), text);
          }
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });

  it('accepts a piece of the maximum length, and refuses a longer one', () => {
    const vocabulary = new Vocabulary(entries('a', 'aa'));
    assert.equal(countWith(vocabulary, 'a'.repeat(PIECE_BYTES_MAX)), PIECE_BYTES_MAX / 2);
    assert.throws(() => countWith(vocabulary, 'a'.repeat(PIECE_BYTES_MAX + 1)));
  });
});
