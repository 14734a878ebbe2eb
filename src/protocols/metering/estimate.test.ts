import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, objectText, type SpeltMember, valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { estimateTokens, valueStart } from './estimate.ts';

describe('estimateTokens', () => {
  it('counts four bytes as a token, rounded up', () => {
    assert.deepEqual([0, 1, 4, 5, 8, 9].map(estimateTokens), [0, 1, 1, 2, 2, 3]);
  });
});

describe('valueStart', () => {
  it('returns the start of the value of a key, with any spacing', () => {
    fc.assert(
      fc.property(memberOf(keySpelling('usage'), valueText), (member: SpeltMember) => {
        const bytes = Buffer.from(objectText([member]));
        const keyEnd = 1 + Buffer.byteLength(member.beforeKey + member.key.text);
        const value = valueStart(bytes, keyEnd);
        assert.equal(bytes.toString('utf8', value, value + Buffer.byteLength(member.value)), member.value);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('returns -1 after a string that is not a key', () => {
    for (const text of ['"usage",1', '"usage"}', '"usage" ]', '"usage"']) {
      assert.equal(valueStart(Buffer.from(text), 7), -1, text);
    }
  });
});
