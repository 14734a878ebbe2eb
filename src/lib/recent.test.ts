import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rememberRecent } from './recent.ts';

describe('rememberRecent', () => {
  it('forgets the least recently used entries beyond the limit', () => {
    const recent = rememberRecent<number>(3);
    for (const [name, value] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const)
      recent.set(name, value);
    assert.equal(recent.get('a'), 1);
    recent.set('d', 4);
    recent.set('c', 5);
    assert.deepEqual(Object.fromEntries(recent.entries()), { a: 1, c: 5, d: 4 });
    recent.set('e', 6);
    assert.deepEqual([...recent.keys()].sort(), ['c', 'd', 'e']);
  });

  it('stores any value except null and undefined', () => {
    const recent = rememberRecent<number | string | false>(10);
    for (const value of [0, '', false] as const) {
      recent.set('name', value);
      assert.equal(recent.get('name'), value);
    }
  });
});
