import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { BytePatterns } from './byte-patterns.ts';

const patterns = ['"a"', '"ab"', '"a":', 'aaa', 'aaab', ':":"'].map((text) => Buffer.from(text));

function found(bytes: Buffer): string[] {
  const visited: string[] = [];
  new BytePatterns(patterns).some(bytes, (pattern, end) => {
    visited.push(`${patterns[pattern]} ends at ${end}`);
    return false;
  });
  return visited;
}

describe('BytePatterns', () => {
  it('finds the same occurrences as a search for each pattern', () => {
    const anyText = fc.string({ unit: fc.constantFrom('"', 'a', 'b', ':'), maxLength: 60 });
    fc.assert(
      fc.property(anyText, (text) => {
        const expected: string[] = [];
        for (let at = 0; at < text.length; at++) {
          for (const pattern of patterns) {
            if (text.startsWith(pattern.toString(), at)) expected.push(`${pattern} ends at ${at + pattern.length}`);
          }
        }
        assert.deepEqual(found(Buffer.from(text)), expected);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('stops at the first wanted occurrence', () => {
    const asked: number[] = [];
    const isFound = new BytePatterns(patterns).some(Buffer.from('"ab" aaa "a"'), (pattern) => {
      asked.push(pattern);
      return pattern === 3;
    });
    assert.deepEqual([isFound, asked], [true, [1, 3]]);
  });

  it('accepts 31 patterns that begin with any byte', () => {
    const many = Array.from({ length: 31 }, (_, i) => Buffer.from([255 - i, i, 0x80]));
    for (const [i, pattern] of many.entries()) {
      assert.equal(
        new BytePatterns(many).some(Buffer.concat([Buffer.from('é'), pattern]), (each) => each === i),
        true,
      );
    }
    assert.throws(() => new BytePatterns([...many, Buffer.from('one more')]), RangeError);
    assert.throws(() => new BytePatterns([Buffer.from('ab')]), RangeError);
  });
});
