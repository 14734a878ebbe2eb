/**
 * Readers of the human spellings in the configuration: sizes, durations, times of day. They return `null` for any other
 * text.
 */

const DECIMAL_WITH_UNIT = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/;

const SIZE_FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  KiB: 2 ** 10,
  MB: 1e6,
  MiB: 2 ** 20,
  GB: 1e9,
  GiB: 2 ** 30,
};

/** `64MiB`, `500 KB` or plain bytes. */
export function parseSizeBytes(text: string): number | null {
  return parseScaled(text, SIZE_FACTORS);
}

const DURATION_FACTORS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7 };

/** `500ms`, `10s`, `5m`, `2h` or `1d`. */
export function parseDurationMs(text: string): number | null {
  return parseScaled(text, DURATION_FACTORS);
}

/** Decimal x factor if that is a whole number. In floating point 1.1MB would be 1100000.0000000002 bytes. */
function parseScaled(text: string, factors: Readonly<Record<string, number>>): number | null {
  const [, decimal = '', unit = ''] = DECIMAL_WITH_UNIT.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(factors, unit) ? factors[unit]! : null;
  if (decimal === '' || factor === null) return null;
  const [whole, fraction = ''] = decimal.split('.') as [string, string?];
  const scaled = BigInt(whole + fraction) * BigInt(factor);
  const divisor = 10n ** BigInt(fraction.length);
  const value = Number(scaled / divisor);
  return scaled % divisor === 0n && Number.isSafeInteger(value) ? value : null;
}

const DAY_RANGE = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

/** `09:00-21:00`, in minutes since midnight; it may cross midnight, and 24:00 is allowed as an end. */
export function parseDayRange(text: string): { fromMinute: number; toMinute: number } | null {
  const match = DAY_RANGE.exec(text.trim());
  if (match === null) return null;
  const [fromHour, fromMin, toHour, toMin] = match.slice(1).map(Number) as [number, number, number, number];
  const fromMinute = fromHour * 60 + fromMin;
  const toMinute = toHour * 60 + toMin;
  if (fromMin > 59 || toMin > 59 || fromMinute >= 1440 || toMinute > 1440 || fromMinute === toMinute) return null;
  return { fromMinute, toMinute };
}
