import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findRepeatedMember } from './json-repeats.ts';

describe('findRepeatedMember', () => {
  const cases: readonly (readonly [text: string, path: string | null])[] = [
    ['{"a":1,"b":2}', null],
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"b":{"c":1,"d":[{"e":1},{"f":1,"g":{},"f":null}]}}', 'b.d.1.f'],
    ['{"a":{"b":1},"c":{"b":1},"b":[{"b":1},{"b":1}]}', null],
    ['{"amountYuan":"1","amount\\u0059uan":"2"}', 'amountYuan'],
    ['{"a":"b","c":"b","d":"a"}', null],
    ['{"a":"{\\"x\\":1,\\"x\\":2}","b":["x","x"]}', null],
    ['["a","a",{"a":"a"}]', null],
    ['[1,[2,3],{"a":1,"a":2}]', '2.a'],
    ['{"a\\\\":1,"a\\"":2,"":3,"":4}', ''],
    ['"a"', null],
    ['7', null],
  ];
  for (const [text, path] of cases) it(`finds in ${text}: ${path}`, () => assert.equal(findRepeatedMember(text), path));

  it('finds nothing in serialised values, and a member that was added again', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => findRepeatedMember(JSON.stringify(value)) === null));
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), fc.jsonValue(), (name, one, other) => {
        const key = JSON.stringify(name);
        return findRepeatedMember(`{${key}: ${JSON.stringify(one)}, ${key} :${JSON.stringify(other)}}`) === name;
      }),
    );
  });

  it('handles any depth and number of members', () => {
    const depth = 200_000;
    assert.equal(findRepeatedMember(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`), null);
    assert.equal(findRepeatedMember(`{"a":"${'\\n'.repeat(500_000)}"}`), null);
  });
});
