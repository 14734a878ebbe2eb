/** Whether the text is an amount in yuan, zero or more, that the gateway accepts. */
export function isYuan(text: string): boolean {
  return /^\d{1,9}(?:\.\d{1,9})?$/.test(text);
}

/** Whether the text is a whole number from `min` to the maximum of limits. */
export function isCount(text: string, min = 0): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= 1_000_000_000;
}

export function textOrNull(entered: string): string | null {
  return entered.trim() === '' ? null : entered.trim();
}

export function countOrNull(entered: string): number | null {
  return entered === '' ? null : Number(entered);
}
