import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pathsOf } from './json-paths.ts';

describe('pathsOf', () => {
  const text = '{"a":[1,{"b c":"x","d\\u0065":[["y"]]}],"f":{"g":{}}}';

  it('shows the members and items that lead to a value', () => {
    const expected: readonly [value: string, path: string][] = [
      ['[1,', 'a'],
      ['1,', 'a[0]'],
      ['"x"', 'a[1].b c'],
      ['"y"', 'a[1].de[0][0]'],
      ['{}', 'f.g'],
    ];
    const offsets = expected.map(([value]) => text.indexOf(value));
    assert.deepEqual(
      pathsOf(Buffer.from(text), 0, offsets),
      new Map(expected.map(([value, path]) => [text.indexOf(value), path])),
    );
    assert.deepEqual(pathsOf(Buffer.from(`[{}, ${text}]`), 5, [5 + text.indexOf('"y"')]).size, 1);
  });

  it('truncates a long key, and ignores offsets at which no value begins', () => {
    const long = `{"${'k'.repeat(100)}":1}`;
    assert.deepEqual([...pathsOf(Buffer.from(long), 0, [104]).values()], [`${'k'.repeat(80)}…`]);
    const huge = `{"${'k'.repeat(1_000)}":1}`;
    assert.deepEqual([...pathsOf(Buffer.from(huge), 0, [1_004]).values()], ['…']);
    assert.deepEqual(pathsOf(Buffer.from(text), 0, [2]), new Map());
  });
});
