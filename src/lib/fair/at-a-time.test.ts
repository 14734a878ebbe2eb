import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AtATime } from './at-a-time.ts';

describe('AtATime', () => {
  it('limits each name separately, and frees a slot only once', () => {
    const places = new AtATime(2);
    const [first, second] = [places.take('a'), places.take('a')];
    assert.ok(first !== null && second !== null);
    assert.equal(places.take('a'), null);
    assert.deepEqual([places.isFull('a'), places.isFull('b')], [true, false]);
    assert.notEqual(places.take('b'), null);
    first();
    first();
    assert.notEqual(places.take('a'), null);
    assert.equal(places.take('a'), null);
  });
});
