import { withoutTrailing } from './trailing.ts';

/** An amount of money is a `bigint` of nano-yuan. In APIs and in the configuration, it is a decimal string in yuan. */
export const NANO_PER_YUAN = 1_000_000_000n;

const FRACTION_DIGITS = 9;

const DECIMAL = /^(-?)(\d{1,15})(?:\.(\d{1,9}))?$/;

/** Parses yuan such as `"0.30"` or `"-12"`: at most 15 digits before the point and 9 after it. `null` for any other text. */
export function parseYuan(text: string): bigint | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole, fraction = ''] = match;
  const nano = BigInt(whole!) * NANO_PER_YUAN + BigInt(fraction.padEnd(FRACTION_DIGITS, '0'));
  return sign === '-' ? -nano : nano;
}

/** Formats an amount without trailing zeros: `300000000n` is `"0.3"`. */
export function formatYuan(amountNano: bigint): string {
  const sign = amountNano < 0n ? '-' : '';
  const digits = (amountNano < 0n ? -amountNano : amountNano).toString().padStart(FRACTION_DIGITS + 1, '0');
  const whole = sign + digits.slice(0, -FRACTION_DIGITS);
  const fraction = withoutTrailing(digits.slice(-FRACTION_DIGITS), '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
