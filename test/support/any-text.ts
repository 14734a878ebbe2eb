import fc from 'fast-check';

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINTS = 0x110000 - SURROGATES;

/**
 * Any character except an unpaired surrogate, for `fc.string({ unit: anyCharacter })`. It draws and shrinks like fast-check's unit
 * `binary`, which first builds a table of a million characters: a second and 100 MB in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(CODE_POINTS - 1).map(
  (index) => String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES),
  (character) => {
    const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error('This is not one character.');
    if (code >= SURROGATES_FROM && code < SURROGATES_FROM + SURROGATES) throw new Error('This is half of one.');
    return code < SURROGATES_FROM ? code : code - SURROGATES;
  },
);
