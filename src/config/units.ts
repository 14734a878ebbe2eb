/** A number with a unit. All parsers of this file return `null` for invalid text. */

const DECIMAL_WITH_UNIT = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/;

type Factors = Readonly<Record<string, number>>;

/** Bytes per unit, largest unit first. */
const BINARY_FACTORS: Factors = { GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, B: 1 };
const SIZE_FACTORS: Factors = { ...BINARY_FACTORS, '': 1, KB: 1e3, MB: 1e6, GB: 1e9 };

/** Parses a size such as `64MiB` or `500 KB`; without a unit, bytes. */
export function parseSizeBytes(text: string): number | null {
  return parseScaled(text, SIZE_FACTORS);
}

/** Formats a size as a whole number in the largest possible unit. */
export function formatSize(bytes: number): string {
  return formatScaled(bytes, BINARY_FACTORS);
}

/** Milliseconds per unit, largest unit first. */
const DURATION_FACTORS: Factors = { d: 8.64e7, h: 3.6e6, m: 6e4, s: 1e3, ms: 1 };

/** Parses a duration such as `500ms`, `10s`, `5m`, `2h` or `1d`. */
export function parseDurationMs(text: string): number | null {
  return parseScaled(text, DURATION_FACTORS);
}

/** Formats a duration as a whole number in the largest possible unit. */
export function formatDuration(ms: number): string {
  return formatScaled(ms, DURATION_FACTORS);
}

/** Returns a number times its unit; `null` if this is not a whole number. In floating point, 1.1MB would be 1100000.0000000002 bytes. */
function parseScaled(text: string, factors: Factors): number | null {
  const [, decimal = '', unit = ''] = DECIMAL_WITH_UNIT.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(factors, unit) ? factors[unit]! : null;
  if (decimal === '' || factor === null) return null;
  const [whole, fraction = ''] = decimal.split('.') as [string, string?];
  const scaled = BigInt(whole + fraction) * BigInt(factor);
  const divisor = 10n ** BigInt(fraction.length);
  const value = Number(scaled / divisor);
  return scaled % divisor === 0n && Number.isSafeInteger(value) ? value : null;
}

function formatScaled(value: number, factors: Factors): string {
  const units = Object.entries(factors);
  const [unit, factor] = units.find(([, each]) => value >= each && value % each === 0) ?? units.at(-1)!;
  return `${value / factor}${unit}`;
}

const DAY_RANGE = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

/** A range of a day in minutes. It may cross midnight. */
interface DayRange {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** Parses a range such as `09:00-21:00`. It may end at 24:00. */
export function parseDayRange(text: string): DayRange | null {
  const match = DAY_RANGE.exec(text.trim());
  if (match === null) return null;
  const [fromHour, fromMin, toHour, toMin] = match.slice(1).map(Number) as [number, number, number, number];
  const fromMinute = fromHour * 60 + fromMin;
  const toMinute = toHour * 60 + toMin;
  if (fromMin > 59 || toMin > 59 || fromMinute >= 1440 || toMinute > 1440 || fromMinute === toMinute) return null;
  return { fromMinute, toMinute };
}

export function formatDayRange({ fromMinute, toMinute }: DayRange): string {
  const time = (minute: number): string =>
    `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
  return `${time(fromMinute)}-${time(toMinute)}`;
}
