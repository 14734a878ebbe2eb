import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { writeStructure } from './structure.ts';

function written(
  value: unknown,
  key: string | null = null,
  taken: (key: string, value: unknown) => boolean = () => false,
) {
  const stretches: string[] = [];
  writeStructure(value, key, { write: (json) => stretches.push(json), takes: (found, at) => taken(at, found) });
  return stretches;
}

describe('writeStructure', () => {
  it('writes the output of JSON.stringify, for any value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => assert.equal(written(value).join(''), JSON.stringify(value))));
  });

  it('writes a member with its name', () => {
    assert.equal(written([1, 'b'], 'a "key"').join(''), '"a \\"key\\"":[1,"b"]');
  });

  it('writes an empty string for a value that is taken, and reports its key, also through lists', () => {
    const keys: string[] = [];
    const text = written({ a: ['x', 'y'], b: { c: 'z' } }, null, (key, value) => {
      keys.push(key);
      return value === 'y' || key === 'b';
    }).join('');
    assert.equal(text, '{"a":["x",""],"b":""}');
    assert.deepEqual(keys, ['', 'a', 'a', 'b']);
  });

  it('accepts a value nested a million levels deep', () => {
    let deep: unknown = [];
    for (let level = 1; level < 1_000_000; level++) deep = [deep];
    assert.equal(written(deep).join('').length, 2_000_000);
  });

  it('writes long structures in chunks', () => {
    const list = Array.from({ length: 400_000 }, (_, index) => `${index}`);
    const stretches = written(list);
    assert.ok(stretches.length > 1);
    assert.ok(stretches.every(({ length }) => length < 2 ** 20 + 100));
    assert.equal(stretches.join(''), JSON.stringify(list));
  });
});
