/**
 * Amounts in yuan are decimal strings with at most nine decimals, as in the gateway. Calculations use integers of nano-yuan, never floating
 * point.
 */

const DECIMALS = 9;
const SIGNIFICANT_DIGITS = 3;

export function toNano(amountYuan: string): bigint {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amountYuan) ?? [];
  const nano = BigInt(whole + decimals.padEnd(DECIMALS, '0').slice(0, DECIMALS));
  return sign === '' ? nano : -nano;
}

function withoutTrailingZeros(decimals: string): string {
  let end = decimals.length;
  while (decimals[end - 1] === '0') end--;
  return decimals.slice(0, end);
}

export function fromNano(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(DECIMALS + 1, '0');
  const decimals = withoutTrailingZeros(digits.slice(-DECIMALS));
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${decimals === '' ? '' : `.${decimals}`}`;
}

/** Rounds half even to two decimals; amounts below 1 yuan to three significant digits, so that small charges differ. */
export function roundYuan(amountYuan: string): string {
  const nano = toNano(amountYuan);
  const size = nano < 0n ? -nano : nano;
  const digits = size.toString().length;
  const step = 10n ** BigInt(Math.min(Math.max(digits - SIGNIFICANT_DIGITS, 0), DECIMALS - 2));
  const rest = size % step;
  const isUp = 2n * rest > step || (2n * rest === step && (size / step) % 2n === 1n);
  const rounded = size - rest + (isUp ? step : 0n);
  return fromNano(nano < 0n ? -rounded : rounded);
}

export function addYuan(a: string, b: string): string {
  return fromNano(toNano(a) + toNano(b));
}

/** The exact amount times a count, divided by a power of ten. */
export function times(amountYuan: string, count: number, powerOfTen: number): string {
  const [whole = '0', decimals = ''] = amountYuan.split('.');
  const product = (BigInt(whole + decimals) * BigInt(count)).toString();
  const places = decimals.length + powerOfTen;
  const padded = product.padStart(places + 1, '0');
  const tail = withoutTrailingZeros(padded.slice(padded.length - places));
  const head = padded.slice(0, padded.length - places);
  return places === 0 || tail === '' ? head : `${head}.${tail}`;
}

export function compareYuan(a: string, b: string): number {
  const difference = toNano(a) - toNano(b);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

/** The entered amount, such as `12.50` or `-3`, in nano-yuan; `null` if the gateway would not accept it. */
export function enteredNano(text: string): bigint | null {
  return /^-?\d{1,9}(?:\.\d{1,9})?$/.test(text.trim()) ? toNano(text.trim()) : null;
}
