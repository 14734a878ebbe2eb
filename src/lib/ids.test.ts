import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createIds, type FillRandom } from './ids.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Bytes that count up: every byte drawn is a different one, until 256 have gone. */
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

  it('sort by the millisecond in which they were made', () => {
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

  it('carry a time of zero if the clock stands before 1970', () => {
    for (const nowMs of [0, -1, -1_000]) {
      assert.equal(
        createIds({ nowMs: () => nowMs })
          .next('x')
          .slice(0, 12),
        'x_0000000000',
      );
    }
  });

  it('leave fractions of a millisecond out', () => {
    assert.equal(
      createIds({ nowMs: () => 33.9 })
        .next('x')
        .slice(0, 12),
      'x_0000000011',
    );
  });

  it('take 5 bits of each random byte, and every byte once', () => {
    const { fill } = counting();
    const ids = createIds({ nowMs: () => 0 }, fill);
    assert.equal(ids.next('x').slice(12), '0123456789abcdef');
    assert.equal(ids.next('x').slice(12), 'ghjkmnpqrstvwxyz');
    assert.equal(ids.next('x').slice(12), '0123456789abcdef');
  });

  it('draw random bytes a pool at a time', () => {
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
