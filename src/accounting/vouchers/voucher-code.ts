import { createHash } from 'node:crypto';
import type { FillRandom } from '../../lib/ids.ts';

/**
 * Voucher codes, such as `7KQ2M-X0T4B-9WZ3H-DC5RA`: 19 random characters of Crockford's base 32 (95 bits) and a check character, which
 * detects typing mistakes without a lookup. Case, hyphens and spaces are ignored; the letters O, I and L are read as the digits that they
 * resemble.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_CHARS = 20;
const GROUP_CHARS = 5;
/** Maximum length of a text that is parsed as a code, including spaces. */
const TEXT_CHARS_MAX = 100;

/** Number of characters of a code that lists show. */
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

/** Creates a code with hyphens. */
export function createVoucherCode(fillRandom: FillRandom): string {
  const bytes = new Uint8Array(CODE_CHARS - 1);
  fillRandom(bytes);
  const values = Array.from(bytes, (byte) => byte & 31);
  const text = [...values, checkOf(values)].map((value) => ALPHABET[value]).join('');
  return text.match(new RegExp(`.{${GROUP_CHARS}}`, 'g'))!.join('-');
}

/** Parses a typed code and returns it without hyphens; `null` if its format or its check character is wrong. */
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

/**
 * Returns the hash by which a code is stored and found.
 *
 * @param code a code as returned by `readVoucherCode`
 */
export function hashVoucherCode(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}

/**
 * Returns the stored fields of a voucher.
 *
 * @param code a code as returned by `createVoucherCode`
 */
export function storedVoucher(code: string): { readonly codeHash: Buffer; readonly codeEnd: string } {
  return { codeHash: hashVoucherCode(readVoucherCode(code)!), codeEnd: shownEnd(code) };
}

/** Returns the last characters of a code. Support staff can identify the code by them. */
export function shownEnd(code: string): string {
  return code.slice(-SHOWN_CHARS);
}

/** Returns the check character, which makes the weighted sum of all characters 0. */
function checkOf(values: readonly number[]): number {
  return double(weightedSum(values));
}

/**
 * A sum in the field of 32 elements, in which each character is multiplied by a different one of the 31 powers of 2. The sum changes if one
 * character is wrong or two characters are swapped.
 */
function weightedSum(values: readonly number[]): number {
  return values.reduce((sum, value) => double(sum) ^ value, 0);
}

/** Multiplies an element of the field by 2, modulo x⁵ + x² + 1. The element 2 is a primitive root of this field. */
function double(value: number): number {
  const shifted = value << 1;
  return shifted < 32 ? shifted : shifted ^ 0b100101;
}
