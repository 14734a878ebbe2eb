import { withoutTrailing } from '../trailing.ts';

/** A JSON number as bytes: where it ends, if its chunk has all of it, and otherwise how it is read across chunks. */
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NONE = -1;

/** Where the number ends that may begin at `start`; `NONE` where that takes a second look or another chunk. */
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

/** The part of a number that its last byte belonged to: whole numbers from `AFTER_ZERO` on, digits from the next on. */
const NO_PART = -1;
const AFTER_MINUS = 0;
const AFTER_POINT = 1;
const AFTER_E = 2;
const AFTER_E_SIGN = 3;
const AFTER_ZERO = 4;
const AFTER_INTEGER = 5;
const AFTER_FRACTION = 6;
const AFTER_EXPONENT = 7;

/** A number that is read part by part: one that the end of a chunk cuts, or that is broken. */
export class NumberReader {
  #part = AFTER_MINUS;

  /** Whether what was read is a number, though more may belong to it. */
  get isWhole(): boolean {
    return this.#part >= AFTER_ZERO;
  }

  /** Begins with the first byte, a minus sign or a digit. */
  begin(byte: number): void {
    this.#part = byte === MINUS ? AFTER_MINUS : byte === ZERO ? AFTER_ZERO : AFTER_INTEGER;
  }

  /** Reads on, to the first byte that cannot be the number's next or to the end of the chunk. */
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

/** The part that a number is in once `byte` is added to it; `NO_PART` if the byte cannot be its next. */
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

/** The parts of a number: digits before the point, behind it, and the exponent. */
const NUMBER = /^-?([0-9]{1,400})(?:\.([0-9]{1,400}))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/**
 * Whether a JSON number is whole as it is written, and not only once it is rounded to a double: readers of decimals take
 * `0.99999999999999999999` for less than 1.
 */
export function isExactWhole(text: string): boolean {
  const [, digits, fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (digits === undefined) return false;
  const significant = withoutTrailing(digits + fraction, '0');
  const droppedZeros = digits.length + fraction.length - significant.length;
  return significant === '' || Number(exponent) - fraction.length + droppedZeros >= 0;
}
