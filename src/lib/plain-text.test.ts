import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/any-text.ts';
import { escapeJson, escapeLines, escapeText, isPlainText } from './plain-text.ts';

const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

const OBEYED = [
  ...from(0x00, 0x1f),
  ...from(0x7f, 0x9f),
  0x061c,
  0x200e,
  0x200f,
  0x2028,
  0x2029,
  ...from(0x202a, 0x202e),
  ...from(0x2066, 0x2069),
];

describe('plain text', () => {
  it('may have any character that terminals and pages do not interpret', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const isObeyed = OBEYED.includes(code);
      assert.equal(isPlainText(`a${String.fromCharCode(code)}b`), !isObeyed, code.toString(16));
    }
    assert.equal(isPlainText('Zoë 王 😀👩‍💻 ‑ “Café”'), true);
  });

  it('results from escaping any text, in one line', () => {
    assert.equal(escapeText('a\u001b[2Jb\nc\u202ed\u009b'), 'a\\u001b[2Jb\\u000ac\\u202ed\\u009b');
    assert.equal(escapeText('plain'), 'plain');
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => isPlainText(escapeText(text))));
  });

  it('keeps line breaks if the writer wants them', () => {
    assert.equal(escapeLines('one\ntwo\r\t'), 'one\ntwo\\u000d\\u0009');
  });

  it('stays the same JSON value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter })), (value) => {
        const text = escapeJson(JSON.stringify(value, null, 2));
        assert.ok(text.split('\n').every(isPlainText));
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
