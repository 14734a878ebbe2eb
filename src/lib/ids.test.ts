import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createIds, type FillRandom } from './ids.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Bytes that count up, so that 256 consecutive bytes all differ. */
function counting(): { readonly fill: FillRandom; readonly fills: number[] } {
  const fills: number[] = [];
  let next = 0;
  return {
    fills,
    fill: (bytes) => {
      fills.push(bytes.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = next++;
    },
  };
}

describe('ids', () => {
  it('are the prefix, 10 characters of time and 16 random characters', () => {
    const ids = createIds({ nowMs: () => 1_790_000_000_000 });
    const id = ids.next('call');
    assert.match(id, /^call_[0-9a-hjkmnp-tv-z]{26}$/);
    const time = [...id.slice(5, 15)].reduce((sum, letter) => sum * 32 + ALPHABET.indexOf(letter), 0);
    assert.equal(time, 1_790_000_000_000);
  });

  it('sort by the millisecond in which they were created', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 45 }), fc.integer({ min: 1, max: 2 ** 40 }), (earlierMs, aheadMs) => {
        let nowMs = earlierMs;
        const ids = createIds({ nowMs: () => nowMs });
        const earlier = ids.next('x');
        nowMs += aheadMs;
        assert.ok(earlier < ids.next('x'));
      }),
    );
  });

  it('have a time of zero if the clock shows a time before 1970', () => {
    for (const nowMs of [0, -1, -1_000]) {
      assert.equal(
        createIds({ nowMs: () => nowMs })
          .next('x')
          .slice(0, 12),
        'x_0000000000',
      );
    }
  });

  it('ignore fractions of a millisecond', () => {
    assert.equal(
      createIds({ nowMs: () => 33.9 })
        .next('x')
        .slice(0, 12),
      'x_0000000011',
    );
  });

  it('use 5 bits of each random byte, and each byte once', () => {
    const { fill } = counting();
    const ids = createIds({ nowMs: () => 0 }, fill);
    assert.equal(ids.next('x').slice(12), '0123456789abcdef');
    assert.equal(ids.next('x').slice(12), 'ghjkmnpqrstvwxyz');
    assert.equal(ids.next('x').slice(12), '0123456789abcdef');
  });

  it('draw random bytes in pools', () => {
    const { fill, fills } = counting();
    const ids = createIds({ nowMs: () => 0 }, fill);
    for (let i = 0; i < 256; i++) ids.next('x');
    assert.deepEqual(fills, [4096]);
    ids.next('x');
    assert.deepEqual(fills, [4096, 4096]);
  });

  it('do not repeat within a millisecond', () => {
    const ids = createIds({ nowMs: () => 7 });
    assert.equal(new Set(Array.from({ length: 5_000 }, () => ids.next('x'))).size, 5_000);
  });
});
