/**
 * Amounts in yuan as the gateway writes them: decimal strings with at most nine decimals. They are counted with as integers of
 * nano-yuan, never as floating point numbers.
 */

const DECIMALS = 9;

export function toNano(amountYuan: string): bigint {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amountYuan) ?? [];
  const nano = BigInt(whole + decimals.padEnd(DECIMALS, '0').slice(0, DECIMALS));
  return sign === '' ? nano : -nano;
}

/** Decimals without the zeros at their end. */
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

/**
 * Rounds an amount half even to two decimals; below one yuan to the two first digits that are not zero if these stand behind them, so that a
 * small charge does not look like none.
 */
export function roundYuan(amountYuan: string): string {
  const nano = toNano(amountYuan);
  const size = nano < 0n ? -nano : nano;
  const digits = size.toString().length;
  // Of an amount below 0.01 yuan: as many decimals as leave two digits.
  const step = digits <= DECIMALS - 2 ? 10n ** BigInt(Math.max(digits - 2, 0)) : 10n ** BigInt(DECIMALS - 2);
  const rest = size % step;
  const isUp = 2n * rest > step || (2n * rest === step && (size / step) % 2n === 1n);
  const rounded = size - rest + (isUp ? step : 0n);
  return fromNano(nano < 0n ? -rounded : rounded);
}

export function addYuan(a: string, b: string): string {
  return fromNano(toNano(a) + toNano(b));
}

/** An amount times a count, divided by a power of ten, exact. */
export function times(amountYuan: string, count: number, powerOfTen: number): string {
  const [whole = '0', decimals = ''] = amountYuan.split('.');
  const product = (BigInt(whole + decimals) * BigInt(count)).toString();
  const places = decimals.length + powerOfTen;
  const padded = product.padStart(places + 1, '0');
  const tail = withoutTrailingZeros(padded.slice(padded.length - places));
  const head = padded.slice(0, padded.length - places);
  return places === 0 || tail === '' ? head : `${head}.${tail}`;
}

/** Below, at or above zero, as a list is sorted by. */
export function compareYuan(a: string, b: string): number {
  const difference = toNano(a) - toNano(b);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}

/** The amount that somebody has entered, such as `12.50` or `-3`, in nano-yuan; `null` if it is none that the gateway would take. */
export function enteredNano(text: string): bigint | null {
  return /^-?\d{1,9}(?:\.\d{1,9})?$/.test(text.trim()) ? toNano(text.trim()) : null;
}
