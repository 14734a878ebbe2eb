import { type Decimal, readDecimal, times, toNano } from '../../../lib/decimal.ts';

/**
 * Reads an amount that PostgreSQL has written from a `double precision`, in its shortest digits; `null` if it is no amount, such as
 * `Infinity`.
 */
export function parseDollars(text: string): Decimal | null {
  const isNegative = text.startsWith('-');
  const read = readDecimal(isNegative ? text.slice(1) : text);
  return read !== null && isNegative ? { ...read, digits: -read.digits } : read;
}

export function minus(from: Decimal, amount: Decimal): Decimal {
  const scale = Math.max(from.scale, amount.scale);
  const at = ({ digits, scale: own }: Decimal): bigint => digits * 10n ** BigInt(scale - own);
  return { digits: at(from) - at(amount), scale };
}

/** Converts to nano-yuan, rounded to the nearest, halves away from zero. */
export const dollarsToNano = (dollars: Decimal, usdCny: Decimal): bigint => toNano(times(dollars, usdCny));
