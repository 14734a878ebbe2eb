import { NANO_PER_YUAN } from './yuan.ts';

/** An exact decimal number, `digits / 10 ** scale`: 7.15 is 715 with the scale 2. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** Reads a positive number such as `7.15`, with at most 12 digits on either side of the point; `null` for any other text. */
export function parseDecimal(text: string): Decimal | null {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const digits = BigInt(whole + fraction);
  return digits === 0n ? null : { digits, scale: fraction.length };
}

/** A longer text is no price. Digits of any number would take quadratic time. */
const CHARS_MAX = 100;

/** Reads a number of JSON, or its text of at most 100 characters, exactly; `null` if it is negative, or no number. */
export function readDecimal(value: unknown): Decimal | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  if (typeof value === 'string' && value.length > CHARS_MAX) return null;
  // For a number, `String` returns the shortest text, which has the digits that were parsed.
  const [, whole, fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(String(value)) ?? [];
  if (whole === undefined) return null;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

export const isZero = ({ digits }: Decimal): boolean => digits === 0n;

export function times(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, scale: a.scale + b.scale };
}

export function isSame(a: Decimal, b: Decimal): boolean {
  return a.digits * 10n ** BigInt(b.scale) === b.digits * 10n ** BigInt(a.scale);
}

/** Returns 1 + percent / 100. */
export function withPercent({ digits, scale }: Decimal): Decimal {
  return { digits: digits + 100n * 10n ** BigInt(scale), scale: scale + 2 };
}

/** Returns `a / b`; `null` if this has more than nine decimals. */
export function quotient(a: Decimal, b: Decimal): Decimal | null {
  const above = a.digits * 10n ** BigInt(b.scale) * NANO_PER_YUAN;
  const below = b.digits * 10n ** BigInt(a.scale);
  if (below === 0n || above % below !== 0n) return null;
  return { digits: above / below, scale: 9 };
}

/** Converts to billionths, rounded to the nearest integer, halves away from zero. */
export function toNano({ digits, scale }: Decimal): bigint {
  return roundedQuotient(digits * NANO_PER_YUAN, 10n ** BigInt(scale));
}

/** Returns `above / below`, rounded to the nearest integer, halves away from zero. */
export function roundedQuotient(above: bigint, below: bigint): bigint {
  const rounded = ((above < 0n ? -above : above) * 2n + below) / (2n * below);
  return above < 0n ? -rounded : rounded;
}
