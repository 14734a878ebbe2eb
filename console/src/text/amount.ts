/** Amounts that people enter, in nano-yuan: sums of amounts are exact. */

const NANO_DECIMALS = 9;

/** The amount of a decimal text such as `12.50` or `-3`; `null` where it is none that the gateway would take. */
export function nanoOf(text: string): bigint | null {
  const [, sign, whole, decimals = ''] = /^(-?)(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const size = BigInt(whole + decimals.padEnd(NANO_DECIMALS, '0'));
  return sign === '-' ? -size : size;
}

/** An amount as the gateway writes it, without zeros at the end. */
export function yuanOf(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_DECIMALS + 1, '0');
  const decimals = digits.slice(-NANO_DECIMALS).replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -NANO_DECIMALS)}${decimals === '' ? '' : `.${decimals}`}`;
}

/** The sum of two amounts; `null` where one is none. */
export function sumYuan(one: string, other: string): string | null {
  const [a, b] = [nanoOf(one), nanoOf(other)];
  return a === null || b === null ? null : yuanOf(a + b);
}
