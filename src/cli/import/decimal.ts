import { NANO_PER_YUAN } from '../../lib/yuan.ts';

/** A positive decimal number, as digits behind which the point is moved: 7.15 is 715 with 2. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** `null` if the text is no positive number such as `7.15`, with at most 12 digits on either side of the point. */
export function parseDecimal(text: string): Decimal | null {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const digits = BigInt(whole + fraction);
  return digits === 0n ? null : { digits, scale: fraction.length };
}

/**
 * What units of quota are in nano-yuan, to the nearest one and halves away from zero.
 *
 * @param unitsPerDollar the option `QuotaPerUnit` of the other gateway
 */
export function unitsToNano(units: bigint, unitsPerDollar: Decimal, usdCny: Decimal): bigint {
  const above = units * usdCny.digits * NANO_PER_YUAN * 10n ** BigInt(unitsPerDollar.scale);
  const below = unitsPerDollar.digits * 10n ** BigInt(usdCny.scale);
  const rounded = ((above < 0n ? -above : above) * 2n + below) / (2n * below);
  return above < 0n ? -rounded : rounded;
}
