import { createHash } from 'node:crypto';
import type { FillRandom } from '../../lib/ids.ts';

/**
 * Digits of a voucher code: 19 random characters of Crockford's base 32 (95 bits) and a check character, such as `7KQ2M-X0T4B-9WZ3H-DC5RA`.
 * Case, hyphens and spaces are ignored; the letters O, I and L are read as digits.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODE_CHARS = 20;
const GROUP_CHARS = 5;
const TEXT_CHARS_MAX = 100;

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

export function createVoucherCode(fillRandom: FillRandom): string {
  const bytes = new Uint8Array(CODE_CHARS - 1);
  fillRandom(bytes);
  const values = Array.from(bytes, (byte) => byte & 31);
  const text = [...values, checkOf(values)].map((value) => ALPHABET[value]).join('');
  return text.match(new RegExp(`.{${GROUP_CHARS}}`, 'g'))!.join('-');
}

/** Returns the code without hyphens; `null` if its format or its check character is wrong. */
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

/** @param code the result of `readVoucherCode` */
export function hashVoucherCode(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}

/** @param code the result of `createVoucherCode` */
export function storedVoucher(code: string): { readonly codeHash: Buffer; readonly codeEnd: string } {
  return { codeHash: hashVoucherCode(readVoucherCode(code)!), codeEnd: shownEnd(code) };
}

/** Returns the last characters of a code, which lists show, so that support staff can identify it. */
export function shownEnd(code: string): string {
  return code.slice(-SHOWN_CHARS);
}

/** Returns the check character, which makes the weighted sum of all characters 0. */
function checkOf(values: readonly number[]): number {
  return double(weightedSum(values));
}

/** Computes a sum in the field of 32 elements. It changes if one character is wrong or two are swapped. */
function weightedSum(values: readonly number[]): number {
  return values.reduce((sum, value) => double(sum) ^ value, 0);
}

/** Multiplies an element of the field by 2, modulo x⁵ + x² + 1. */
function double(value: number): number {
  const shifted = value << 1;
  return shifted < 32 ? shifted : shifted ^ 0b100101;
}
