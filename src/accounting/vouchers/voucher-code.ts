import { createHash } from 'node:crypto';
import type { FillRandom } from '../../lib/ids.ts';

/**
 * Codes of vouchers: `7KQ2M-X0T4B-9WZ3H-DC5RA`. 19 characters of Crockford's base 32 are random (95 bits) and the last one checks
 * them, so that a typing mistake is told at once, without a look-up. Case, hyphens and blanks do not matter, and O, I and L are
 * read as the digits that they look like.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_CHARS = 20;
const GROUP_CHARS = 5;
/** Longer texts are no code, however many blanks they have. */
const TEXT_CHARS_MAX = 100;

/** How many characters lists show of a code. */
const SHOWN_CHARS = 4;

const VALUE_OF: ReadonlyMap<string, number> = new Map(
  [...ALPHABET]
    .map((character, value): [string, number] => [character, value])
    .concat([
      ['O', 0],
      ['I', 1],
      ['L', 1],
    ]),
);

/** Makes a code, as people get it. */
export function createVoucherCode(fillRandom: FillRandom): string {
  const bytes = new Uint8Array(CODE_CHARS - 1);
  fillRandom(bytes);
  const values = Array.from(bytes, (byte) => byte & 31);
  const text = [...values, checkOf(values)].map((value) => ALPHABET[value]).join('');
  return text.match(new RegExp(`.{${GROUP_CHARS}}`, 'g'))!.join('-');
}

/** The code that somebody typed, without hyphens; `null` if it is none, by its form or by its check character. */
export function readVoucherCode(typed: string): string | null {
  if (typed.length > TEXT_CHARS_MAX) return null;
  const values: number[] = [];
  for (const character of typed.replace(/[\s-]/g, '').toUpperCase()) {
    const value = VALUE_OF.get(character);
    if (value === undefined) return null;
    values.push(value);
  }
  if (values.length !== CODE_CHARS || weightedSum(values) !== 0) return null;
  return values.map((value) => ALPHABET[value]).join('');
}

/** All that is stored of a code, and what it is found by. `code`: as `readVoucherCode` returns it. */
export function hashVoucherCode(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}

/** What is stored of a voucher. `code`: as `createVoucherCode` made it. */
export function storedVoucher(code: string): { readonly codeHash: Buffer; readonly codeEnd: string } {
  return { codeHash: hashVoucherCode(readVoucherCode(code)!), codeEnd: shownEnd(code) };
}

/** What lists show of a code, so that support can tell which one somebody has. */
export function shownEnd(code: string): string {
  return code.slice(-SHOWN_CHARS);
}

/** The character with which the weighted sum of all is 0. */
function checkOf(values: readonly number[]): number {
  return double(weightedSum(values));
}

/**
 * In the field of 32 elements, each character times a power of 2 of its own (there are 31 of them): one wrong character changes
 * the sum, and so do two that have changed places.
 */
function weightedSum(values: readonly number[]): number {
  return values.reduce((sum, value) => double(sum) ^ value, 0);
}

/** Twice an element, modulo x⁵ + x² + 1, of which 2 is a primitive root. */
function double(value: number): number {
  const shifted = value << 1;
  return shifted < 32 ? shifted : shifted ^ 0b100101;
}
