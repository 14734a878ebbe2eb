import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { LruMap } from './lru.ts';

describe('LruMap', () => {
  it('lets the entry go that was read least recently', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    assert.equal(map.get('a'), 1);
    map.set('c', 3);
    assert.equal(map.get('b'), undefined);
    assert.equal(map.get('a'), 1);
    assert.equal(map.get('c'), 3);
  });

  it('counts a write as a read', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 10);
    map.set('c', 3);
    assert.equal(map.get('a'), 10);
    assert.equal(map.get('b'), undefined);
  });

  it('keeps nothing where the limit is zero', () => {
    const map = new LruMap<string, number>(0);
    map.set('a', 1);
    assert.equal(map.size, 0);
  });

  it('removes exactly the entries that the test picks', () => {
    const map = new LruMap<string, number>(10);
    for (const value of [1, 2, 3, 4]) map.set(`key ${value}`, value);
    map.deleteWhere((value) => value % 2 === 0);
    assert.deepEqual(
      [1, 2, 3, 4].map((value) => map.get(`key ${value}`)),
      [1, undefined, 3, undefined],
    );
    assert.equal(map.size, 2);
  });

  it('behaves as a list of entries in order of use does', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      fc.record({ do: fc.constant('get' as const), key }),
      fc.record({ do: fc.constant('set' as const), key, value: fc.nat() }),
      fc.record({ do: fc.constant('delete' as const), key }),
      fc.record({ do: fc.constant('clear' as const) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 40 }), (entriesMax, steps) => {
        const map = new LruMap<string, number>(entriesMax);
        /** Least recently used first. */
        let entries: { key: string; value: number }[] = [];
        const take = (wanted: string) => {
          const found = entries.find((entry) => entry.key === wanted);
          entries = entries.filter((entry) => entry !== found);
          return found;
        };
        for (const step of steps) {
          if (step.do === 'clear') {
            map.clear();
            entries = [];
          } else if (step.do === 'get') {
            const found = take(step.key);
            if (found !== undefined) entries.push(found);
            assert.equal(map.get(step.key), found?.value);
          } else {
            take(step.key);
            if (step.do === 'set') {
              entries = [...entries, { key: step.key, value: step.value }].slice(-entriesMax);
              map.set(step.key, step.value);
            } else {
              map.delete(step.key);
            }
          }
          assert.equal(map.size, entries.length);
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
