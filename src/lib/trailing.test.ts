import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { upTo, withoutTrailing } from './trailing.ts';

describe('withoutTrailing and upTo', () => {
  it('remove trailing occurrences of a character', () => {
    const texts = ['', '0', '100', '0010', '000'].map((text) => withoutTrailing(text, '0'));
    assert.deepEqual(texts, ['', '', '1', '001', '']);
  });

  it('end the text before the first of several characters', () => {
    const texts = ['/a?b#c', '/a#b?c', '/a', '?', ''].map((text) => upTo(text, '?#'));
    assert.deepEqual(texts, ['/a', '/a', '/a', '', '']);
  });
});
