import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evenly } from './revisions.ts';

describe('revisions', () => {
  it('evenly: has the first and the last, and as many as are asked for', () => {
    assert.deepEqual(evenly([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 3), [0, 5, 10]);
    assert.deepEqual(evenly([0, 1, 2, 3, 4, 5], 4), [0, 2, 3, 5]);
  });

  it('evenly: has each once if there are no more', () => {
    assert.deepEqual(evenly(['a', 'b'], 8), ['a', 'b']);
    assert.deepEqual(evenly([], 8), []);
  });

  it('evenly: has the last if one is asked for', () => {
    assert.deepEqual(evenly([0, 1, 2], 1), [2]);
  });
});
