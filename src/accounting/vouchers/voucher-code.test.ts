import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createVoucherCode, hashVoucherCode, readVoucherCode, shownEnd } from './voucher-code.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const codes = fc
  .uint8Array({ minLength: 19, maxLength: 19 })
  .map((random) => createVoucherCode((bytes) => bytes.set(random)));

describe('codes of vouchers', () => {
  it('are four groups of five unambiguous characters', () => {
    const code = createVoucherCode(randomFillSync);
    assert.match(code, /^([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/);
    assert.notEqual(createVoucherCode(randomFillSync), code);
    assert.equal(readVoucherCode(code), code.replaceAll('-', ''));
    assert.equal(shownEnd(code), code.slice(-4));
    // Issued codes stay valid: the first version created this one.
    assert.equal(
      createVoucherCode((bytes) => bytes.set(bytes.map((_, i) => i))),
      '01234-56789-ABCDE-FGHJT',
    );
  });

  it('are read in either case, with or without hyphens and spaces, with O, I and L as digits', () => {
    fc.assert(
      fc.property(codes, fc.array(fc.boolean(), { minLength: 80, maxLength: 80 }), (code, coins) => {
        const typed = [...code].map((character, i) => {
          if (character === '-') return coins[i] ? '-' : coins[i + 24] ? ' ' : '';
          const alike = { 0: 'O', 1: coins[i] ? 'I' : 'L' }[character] ?? character;
          const written = coins[i + 24] ? alike : character;
          return coins[i + 48] ? written.toLowerCase() : written;
        });
        assert.equal(readVoucherCode(` ${typed.join('')}\n`), code.replaceAll('-', ''));
      }),
    );
  });

  it('are rejected with one wrong character, or with two that were swapped', () => {
    fc.assert(
      fc.property(codes, fc.nat(19), fc.integer({ min: 1, max: 31 }), fc.nat(19), (code, place, shift, other) => {
        const characters = [...code.replaceAll('-', '')];
        const wrong = characters.with(place, ALPHABET[(ALPHABET.indexOf(characters[place]!) + shift) % 32]!);
        assert.equal(readVoucherCode(wrong.join('')), null);
        const swapped = characters.with(place, characters[other]!).with(other, characters[place]!);
        const isSame = characters[place] === characters[other];
        assert.equal(readVoucherCode(swapped.join('')), isSame ? characters.join('') : null);
      }),
    );
  });

  it('are rejected with a wrong length or character', () => {
    const code = createVoucherCode(randomFillSync);
    for (const typed of ['', '-', code.slice(1), `${code}0`, `U${code.slice(1)}`, `${code}${' '.repeat(100)}`]) {
      assert.equal(readVoucherCode(typed), null, typed);
    }
    fc.assert(fc.property(fc.string(), (typed) => readVoucherCode(typed) === null));
  });

  it('are stored as hashes', () => {
    assert.equal(hashVoucherCode('0123456789ABCDEFGHJT').length, 32);
    assert.notDeepEqual(hashVoucherCode('0123456789ABCDEFGHJT'), hashVoucherCode('0123456789ABCDEFGHJ8'));
  });
});
