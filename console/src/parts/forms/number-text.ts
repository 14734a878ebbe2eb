/** Whether a text is an amount of yuan, zero or more, as the gateway takes it. */
export function isYuan(text: string): boolean {
  return /^\d{1,9}(?:\.\d{1,9})?$/.test(text);
}

/** Whether a text is a whole number from `min` to the greatest that limits take. */
export function isCount(text: string, min = 0): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= 1_000_000_000;
}

/** What was entered in a field that may be left empty, for the gateway. */
export function textOrNull(entered: string): string | null {
  return entered.trim() === '' ? null : entered.trim();
}

export function countOrNull(entered: string): number | null {
  return entered === '' ? null : Number(entered);
}
