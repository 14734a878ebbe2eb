import { type Decimal, readDecimal, times, toNano } from '../../decimal.ts';

/**
 * An amount of dollars as PostgreSQL writes a `double precision`: the shortest digits that are the same number, taken as they stand. `null`
 * for what is no amount, such as `Infinity`.
 */
export function parseDollars(text: string): Decimal | null {
  const isNegative = text.startsWith('-');
  const read = readDecimal(isNegative ? text.slice(1) : text);
  return read !== null && isNegative ? { ...read, digits: -read.digits } : read;
}

/** The exact difference. */
export function minus(from: Decimal, amount: Decimal): Decimal {
  const scale = Math.max(from.scale, amount.scale);
  const at = ({ digits, scale: own }: Decimal): bigint => digits * 10n ** BigInt(scale - own);
  return { digits: at(from) - at(amount), scale };
}

/** Dollars in nano-yuan, to the nearest one and halves away from zero. */
export const dollarsToNano = (dollars: Decimal, usdCny: Decimal): bigint => toNano(times(dollars, usdCny));
