import { roundYuan } from './yuan.ts';

export interface Format {
  /** An amount in yuan with all decimals, at least two: `¥1,234.50`. `isShort` rounds as `roundYuan`. */
  yuan(amount: string, isShort?: boolean): string;
  count(value: number): string;
  /** `12.3M`, for axes and tiles. */
  shortCount(value: number): string;
  /** The shortest exact form: `2M`, `128K`, but `8,192`. */
  exactCount(value: number): string;
  /** With one decimal or three significant digits, whichever is more precise, and the minus sign of amounts. */
  percent(ratio: number): string;
  /** Date and time to the second in the display time zone. */
  instant(at: string): string;
  day(at: string, timezone: string): string;
  /** `in 3 hours`, `2 minutes ago`, `just now`. */
  relative(at: string, nowMs: number): string;
  /** Hour and minute in the display time zone, for axes; `withDay` adds the day. */
  hour(at: string, withDay: boolean): string;
  /** In milliseconds below one second, else in seconds. `like` decides the unit of durations that are shown together. */
  duration(ms: number, like?: number): string;
  bytes(size: number): string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** One decimal hides the difference between small figures, such as 0.04 % and 0 %. */
const DIGITS = { maximumFractionDigits: 1, maximumSignificantDigits: 3, roundingPriority: 'morePrecision' } as const;

export function formatOf(locale: string, zone: string): Format {
  const number = once(() => new Intl.NumberFormat(locale));
  // Vendors write `1M` in all languages. British English would have `1m`, and Chinese would count tens of thousands.
  const compact = once(() => new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 }));
  const percent = once(() => new Intl.NumberFormat(locale, { style: 'percent', ...DIGITS }));
  const instant = once(
    () => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', timeZone: zone }),
  );
  const hour = once(() => new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: zone }));
  const dayHour = once(
    () =>
      new Intl.DateTimeFormat(locale, {
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        timeZone: zone,
      }),
  );
  const relative = once(() => new Intl.RelativeTimeFormat(locale, { numeric: 'always' }));
  const justNow = locale.startsWith('zh') ? '刚刚' : 'just now';
  const unit = (name: string, digits: Intl.NumberFormatOptions = DIGITS) =>
    once(() => new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'short', ...digits }));
  const milliseconds = unit('millisecond', { maximumFractionDigits: 0 });
  const seconds = unit('second');
  const kilobytes = unit('kilobyte');
  const megabytes = unit('megabyte');

  return {
    yuan: (amount, isShort = false) => writeYuan(amount, isShort, number()),
    count: (value) => number().format(value),
    shortCount: (value) => compact().format(value),
    exactCount: (value) => (value === Number(value.toPrecision(3)) ? compact().format(value) : number().format(value)),
    percent: (ratio) => percent().format(ratio).replace('-', '−'),
    instant: (at) => instant().format(new Date(at)),
    day: (at, timezone) =>
      new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: timezone }).format(new Date(at)),
    relative(at, nowMs) {
      const ms = Date.parse(at) - nowMs;
      const size = Math.abs(ms);
      if (ms <= 0 && size < MINUTE_MS / 2) return justNow;
      if (size < HOUR_MS) return relative().format(Math.round(ms / MINUTE_MS) || 1, 'minute');
      if (size < 2 * DAY_MS) return relative().format(Math.round(ms / HOUR_MS), 'hour');
      return relative().format(Math.round(ms / DAY_MS), 'day');
    },
    hour: (at, withDay) => (withDay ? dayHour() : hour()).format(new Date(at)),
    // British English writes `secs`; the symbol is the same in all languages that have Latin letters.
    duration: (ms, like = ms) =>
      like < 1000
        ? milliseconds().format(ms)
        : seconds()
            .format(ms / 1000)
            .replace(/ secs?$/, ' s'),
    bytes: (size) => (size < 1024 * 1024 ? kilobytes().format(size / 1024) : megabytes().format(size / 1024 / 1024)),
  };
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}

/** Formats the decimal string without floating point, so that the amount is exact. */
function writeYuan(amount: string, isShort: boolean, number: Intl.NumberFormat): string {
  const [, sign = '', whole = '0', decimals = ''] =
    /^(-?)(\d+)(?:\.(\d+))?$/.exec(isShort ? roundYuan(amount) : amount) ?? [];
  return `${sign === '' ? '' : '−'}¥${number.format(BigInt(whole))}.${decimals.padEnd(2, '0')}`;
}
