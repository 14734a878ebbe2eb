import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foldedName } from './folded-name.ts';

describe('a folded name', () => {
  const same: readonly [name: string, others: readonly string[]][] = [
    ['stream', ['stream', 'STREAM', 'Stream', '\u017ftream', '\ufb06ream', 'stream\0', 'stream\0x']],
    ['max_tokens', ['MAX_TOKENS', 'max_to\u212aens', 'maxTokens', 'max-tokens', '__max_tokens_', 'max_token\u017f']],
    ['include_usage', ['Include_Usage', '\u0130nclude_usage', '\u0131nclude_usage']],
    ['messages', ['me\u00dfages', 'ME\u1e9eAGES']],
  ];
  for (const [name, others] of same) {
    it(`is the same for every spelling of ${name}`, () => {
      for (const other of others) assert.equal(foldedName(other), foldedName(name), JSON.stringify(other));
    });
  }

  it('covers every character that Unicode folds to a letter of ASCII', () => {
    // Characters that Go's unicode.SimpleFold maps to ASCII letters.
    const orbits: Readonly<Record<string, string>> = { '\u017f': 's', '\u212a': 'k' };
    for (const [character, letter] of Object.entries(orbits)) assert.equal(foldedName(character), letter);
    for (let code = 0x80; code <= 0xffff; code++) {
      const character = String.fromCharCode(code);
      for (const lower of [character.toLowerCase(), character.toUpperCase().toLowerCase()]) {
        if (/^[a-z]+$/.test(lower)) assert.equal(foldedName(character), lower, `U+${code.toString(16)}`);
      }
    }
  });

  it('differs for different names', () => {
    const names = [
      'n',
      'model',
      'models',
      'stream',
      'stream_options',
      'max_tokens',
      'max_completion_tokens',
      ' n',
      'ñ',
    ];
    assert.equal(new Set(names.map((name) => foldedName(name))).size, names.length);
  });

  it('is short, however long the name is', () => {
    assert.equal(foldedName('A'.repeat(1_000_000)).length, 64);
    assert.equal(foldedName(`${'_'.repeat(1_000_000)}n`), 'n');
  });
});
