import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import type { FillRandom } from '../../lib/ids.ts';
import { createApiKey, displayPrefix, hashApiKey, isApiKey, mayBeImportedKey } from './key-format.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function repeating(...pattern: readonly number[]): FillRandom {
  let next = 0;
  return (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = pattern[next++ % pattern.length]!;
  };
}

const anyKey = fc.uint8Array({ minLength: 50, maxLength: 50 }).map((drawn) => createApiKey(repeating(...drawn, 0)));

describe('API keys', () => {
  it('consist of the prefix, 32 random characters and a checksum of 6', () => {
    const key = createApiKey(randomFillSync);
    assert.match(key, /^sk-fg-[0-9A-Za-z]{38}$/);
    assert.equal(isApiKey(key), true);
  });

  it('may be imported if they are at most 200 visible characters without the prefix of keys created here', () => {
    for (const key of ['sk-1234', 'a', 'x'.repeat(200), 'sk-ant-api03-_-.='])
      assert.equal(mayBeImportedKey(key), true, key);
    for (const key of ['', 'x'.repeat(201), 'two words', 'sk-\u4e2d', 'sk-fg-mistyped', createApiKey(randomFillSync)]) {
      assert.equal(mayBeImportedKey(key), false, key);
    }
  });

  it('show at most a third and at most seven characters if they were imported', () => {
    assert.equal(displayPrefix('sk-1a2b3c4d5e6f7a8b9c0d1e2f'), 'sk-1a2b…');
    assert.equal(displayPrefix('secret'), 'se…');
    assert.equal(displayPrefix('pw'), '…');
  });

  it('have a checksum that never changes, since keys outlive versions', () => {
    assert.equal(createApiKey(repeating(0)), 'sk-fg-000000000000000000000000000000002wjyrI');
    assert.equal(createApiKey(repeating(...Array(64).keys())), 'sk-fg-0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL');
  });

  it('use every character with equal probability and skip bytes above 247', () => {
    for (let byte = 0; byte < 248; byte++) {
      assert.equal(createApiKey(repeating(byte)).slice(6, -6), ALPHABET[byte % 62]!.repeat(32));
    }
    for (let byte = 248; byte < 256; byte++) {
      assert.equal(createApiKey(repeating(byte, 1, byte, byte)).slice(6, -6), '1'.repeat(32));
    }
  });

  it('draw more random bytes until they have 32 characters', () => {
    let draws = 0;
    const key = createApiKey((bytes) => {
      draws++;
      bytes.fill(255);
      bytes[0] = 5;
    });
    assert.equal(draws, 32);
    assert.equal(isApiKey(key), true);
  });

  it('are valid, and invalid with any one character changed', () => {
    fc.assert(
      fc.property(anyKey, fc.nat({ max: 43 }), fc.constantFrom(...ALPHABET), (key, at, letter) => {
        assert.equal(isApiKey(key), true);
        fc.pre(key[at] !== letter);
        assert.equal(isApiKey(key.slice(0, at) + letter + key.slice(at + 1)), false);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('are invalid if cut, lengthened, in another case or surrounded by other characters', () => {
    const key = createApiKey(repeating(7, 11, 13));
    for (const text of [
      '',
      'sk-fg-',
      key.slice(0, -1),
      key.slice(1),
      `${key}0`,
      `${key}\n`,
      ` ${key}`,
      key.toUpperCase(),
      `sk-xx-${key.slice(6)}`,
      `${key.slice(0, 10)}-${key.slice(11)}`,
    ]) {
      assert.equal(isApiKey(text), false, JSON.stringify(text));
    }
  });

  it('are stored as their SHA-256', () => {
    assert.equal(hashApiKey('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('show four of their random characters', () => {
    const key = createApiKey(repeating(10, 11, 12, 13, 14));
    assert.equal(displayPrefix(key), 'sk-fg-ABCD…');
  });
});
