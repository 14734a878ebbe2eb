import { withoutTrailing } from '../trailing.ts';

/** This file parses JSON numbers as bytes. */
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NONE = -1;

/** Returns the end of a number that begins at `start`; `NONE` if it is invalid, or may continue in the next chunk. */
export function wholeNumberEnd(chunk: Buffer, start: number): number {
  const end = chunk.length;
  let at = start;
  if (at < end && chunk[at] === MINUS) at++;
  if (at === end || !isDigit(chunk[at]!)) return NONE;
  const first = at;
  let byte: number;
  do {
    at++;
    if (at === end) return NONE;
    byte = chunk[at]!;
  } while (isDigit(byte));
  if (chunk[first] === ZERO && at > first + 1) return NONE;
  if (byte === POINT) {
    const digits = at + 1;
    do {
      at++;
      if (at === end) return NONE;
      byte = chunk[at]!;
    } while (isDigit(byte));
    if (at === digits) return NONE;
  }
  if (byte === 0x65 || byte === 0x45) {
    at++;
    if (at < end && (chunk[at] === MINUS || chunk[at] === PLUS)) at++;
    const digits = at;
    while (at < end && isDigit(chunk[at]!)) at++;
    if (at === digits || at === end) return NONE;
  }
  return at;
}

/** The part of the number to which its last byte belongs. A number can end after `AFTER_ZERO` and all greater parts. */
const NO_PART = -1;
const AFTER_MINUS = 0;
const AFTER_POINT = 1;
const AFTER_E = 2;
const AFTER_E_SIGN = 3;
const AFTER_ZERO = 4;
const AFTER_INTEGER = 5;
const AFTER_FRACTION = 6;
const AFTER_EXPONENT = 7;

/** Parses a number that continues in the next chunk or is invalid. */
export class NumberReader {
  #part = AFTER_MINUS;

  /** Whether the bytes so far are a valid number. It may continue. */
  get isWhole(): boolean {
    return this.#part >= AFTER_ZERO;
  }

  /** Begins a number with its first byte. */
  begin(byte: number): void {
    this.#part = byte === MINUS ? AFTER_MINUS : byte === ZERO ? AFTER_ZERO : AFTER_INTEGER;
  }

  /** Reads up to the first byte that is not a part of the number, or to the end of the chunk. */
  read(chunk: Buffer, start: number): number {
    const end = chunk.length;
    let at = start;
    for (;;) {
      if (this.#part >= AFTER_INTEGER) while (at < end && isDigit(chunk[at]!)) at++;
      if (at === end) return at;
      const next = partWith(this.#part, chunk[at]!);
      if (next === NO_PART) return at;
      this.#part = next;
      at++;
    }
  }
}

/** Returns the part to which `byte` belongs after `part`; `NO_PART` if the byte is invalid there. */
function partWith(part: number, byte: number): number {
  switch (part) {
    case AFTER_MINUS:
      if (byte === ZERO) return AFTER_ZERO;
      return isDigit(byte) ? AFTER_INTEGER : NO_PART;
    case AFTER_POINT:
      return isDigit(byte) ? AFTER_FRACTION : NO_PART;
    case AFTER_E:
      if (byte === PLUS || byte === MINUS) return AFTER_E_SIGN;
      return isDigit(byte) ? AFTER_EXPONENT : NO_PART;
    case AFTER_E_SIGN:
      return isDigit(byte) ? AFTER_EXPONENT : NO_PART;
    case AFTER_EXPONENT:
      return NO_PART;
    default:
      if (byte === POINT && part !== AFTER_FRACTION) return AFTER_POINT;
      return byte === 0x65 || byte === 0x45 ? AFTER_E : NO_PART;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Digits before the point, digits after it, and the exponent of a number. */
const NUMBER = /^-?([0-9]{1,400})(?:\.([0-9]{1,400}))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/** Whether a number is an integer exactly. `0.99999999999999999999` is not, although a double rounds it to 1. */
export function isExactWhole(text: string): boolean {
  const [, digits, fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (digits === undefined) return false;
  const significant = withoutTrailing(digits + fraction, '0');
  const droppedZeros = digits.length + fraction.length - significant.length;
  return significant === '' || Number(exponent) - fraction.length + droppedZeros >= 0;
}
