import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { median, quantile } from './quantile.ts';

describe('quantile', () => {
  it('is one of the values, in any order', () => {
    const values = Array.from({ length: 1_000 }, (_, i) => 1_000 - i);
    assert.deepEqual(
      [0, 0.5, 0.99, 0.999, 1].map((share) => quantile(values, share)),
      [1, 501, 991, 1_000, 1_000],
    );
  });

  it('is not a number if there are no values', () => {
    assert.ok(Number.isNaN(quantile([], 0.5)));
  });

  it('median: ignores unknown values, and is null without known ones', () => {
    assert.equal(median([null, 3, 1, null, 2]), 2);
    assert.equal(median([4, 1]), 2.5);
    assert.equal(median([null]), null);
  });
});
