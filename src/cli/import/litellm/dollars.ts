import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import type { Decimal } from '../decimal.ts';

/**
 * An amount of dollars as PostgreSQL writes a `double precision`: the shortest digits that are the same number, taken as they stand. `null`
 * for what is no amount, such as `Infinity`.
 */
export function parseDollars(text: string): Decimal | null {
  const match = /^(-?)(\d{1,309})(?:\.(\d{1,340}))?(?:e([+-]\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** The exact difference. */
export function minus(from: Decimal, amount: Decimal): Decimal {
  const scale = Math.max(from.scale, amount.scale);
  const at = ({ digits, scale: own }: Decimal): bigint => digits * 10n ** BigInt(scale - own);
  return { digits: at(from) - at(amount), scale };
}

/** Dollars in nano-yuan, to the nearest one and halves away from zero. */
export function dollarsToNano(dollars: Decimal, usdCny: Decimal): bigint {
  const above = dollars.digits * usdCny.digits * NANO_PER_YUAN;
  const below = 10n ** BigInt(dollars.scale + usdCny.scale);
  const rounded = ((above < 0n ? -above : above) * 2n + below) / (2n * below);
  return above < 0n ? -rounded : rounded;
}
