import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import { readTags, TAGS_HEADER } from './call-tags.ts';

const read = (text: string) => readTags({ [TAGS_HEADER]: text });

const first = fc.constantFrom(...'abcXYZ019');
const others = fc.string({ unit: fc.constantFrom(...'abcXYZ019_.:/@+-'), maxLength: 63 });
const tag = fc.tuple(first, others).map((parts) => parts.join(''));
const space = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });

describe('the tags of a call', () => {
  it('are read in their order, whatever white space, repetitions and empty elements the list has', () => {
    const tags = fc.uniqueArray(tag, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(tags, fc.array(fc.tuple(space, space)), fc.boolean(), (wanted, spaces, isRepeated) => {
        const elements = isRepeated ? [...wanted, wanted[0]!, ''] : wanted;
        const text = elements.map((each, i) => `${spaces[i]?.[0] ?? ''}${each}${spaces[i]?.[1] ?? ''}`).join(',');
        assert.deepEqual(read(text), wanted);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('are valid or refused as a whole, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.oneof(tag, fc.string())).map(String)), (text) => {
        const elements = [...new Set(text.split(',').map((each) => each.trim()))].filter((each) => each !== '');
        const isValid =
          elements.length <= 8 && elements.every((each) => /^[A-Za-z0-9][\w.:/@+-]*$/.test(each) && each.length <= 64);
        if (isValid) assert.deepEqual(read(text), elements.length === 0 ? null : elements);
        else assert.throws(() => read(text), { code: 'invalid_request_error', param: TAGS_HEADER });
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('are absent without the header, or with an empty one', () => {
    assert.equal(readTags({}), null);
    assert.equal(read(''), null);
    assert.equal(read(' , ,'), null);
  });
});
