/**
 * Amounts of money are integers of nano-yuan (1e-9 yuan) in `bigint`. At the edges they are decimal strings in yuan.
 */
export const NANO_PER_YUAN = 1_000_000_000n;

const DECIMAL = /^(-?)(\d{1,15})(?:\.(\d{1,9}))?$/;

/**
 * Reads a decimal string in yuan, such as `"0.30"` or `"-12"`: at most 15 digits before the point and 9 after it, no
 * exponent. Returns `null` where the text is not such a number.
 */
export function parseYuan(text: string): bigint | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole, fraction = ''] = match;
  const nano = BigInt(whole!) * NANO_PER_YUAN + BigInt(fraction.padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** Writes an amount as a decimal string in yuan, without trailing zeros: `300000000n` is `"0.3"`. */
export function formatYuan(amountNano: bigint): string {
  const sign = amountNano < 0n ? '-' : '';
  const absolute = amountNano < 0n ? -amountNano : amountNano;
  const whole = absolute / NANO_PER_YUAN;
  const fraction = (absolute % NANO_PER_YUAN).toString().padStart(9, '0').replace(/0+$/, '');
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
