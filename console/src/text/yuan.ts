/**
 * Amounts in yuan as the gateway writes them: decimal strings with at most nine decimals. They are counted with as integers of
 * nano-yuan, never as floating point numbers.
 */

const DECIMALS = 9;

/** What an amount has to look like to be sent: zero or more, with at most nine decimals. */
export const YUAN_PATTERN = /^\d{1,15}(?:\.\d{1,9})?$/;

export function toNano(amountYuan: string): bigint {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amountYuan) ?? [];
  const nano = BigInt(whole + decimals.padEnd(DECIMALS, '0').slice(0, DECIMALS));
  return sign === '' ? nano : -nano;
}

export function fromNano(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(DECIMALS + 1, '0');
  const decimals = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${decimals === '' ? '' : `.${decimals}`}`;
}

export function addYuan(a: string, b: string): string {
  return fromNano(toNano(a) + toNano(b));
}
