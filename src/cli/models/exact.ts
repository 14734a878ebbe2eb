import { NANO_PER_YUAN } from '../../lib/yuan.ts';
import type { Decimal } from '../import/decimal.ts';

/** Prices as they are written, in integers: nothing is rounded before the end. */

/** A number of JSON or a text of digits, exactly as it was written; `null` if it is none, or below zero. */
export function readDecimal(value: unknown): Decimal | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  // The shortest text that is the same number, which is what stood there.
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

/** 100 % and so much more. */
export function withPercent({ digits, scale }: Decimal): Decimal {
  return { digits: digits + 100n * 10n ** BigInt(scale), scale: scale + 2 };
}

/** `a` by `b`, if that is a factor with at most nine decimals; `null` if it is not. */
export function quotient(a: Decimal, b: Decimal): Decimal | null {
  const above = a.digits * 10n ** BigInt(b.scale) * NANO_PER_YUAN;
  const below = b.digits * 10n ** BigInt(a.scale);
  if (below === 0n || above % below !== 0n) return null;
  return { digits: above / below, scale: 9 };
}

/** In nano, to the nearest one, and halves up. */
export function toNano({ digits, scale }: Decimal): bigint {
  const below = 10n ** BigInt(scale);
  return (digits * NANO_PER_YUAN * 2n + below) / (2n * below);
}
