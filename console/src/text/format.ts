import { type Language, LOCALES, useLanguage } from './language.tsx';

/** Writes amounts, numbers and instants in the language in force. */
export interface Format {
  /** An amount in yuan: `¥1,234.50`, with as many decimals as it has, from two on; `isShort`: two, or what makes it visible. */
  yuan(amount: string, isShort?: boolean): string;
  count(value: number): string;
  /** `12.3M`: for axes and tiles. */
  shortCount(value: number): string;
  /** `2M`, `128K`, and all of `8,192`: a number that is as short as it can be without being another one. */
  exactCount(value: number): string;
  percent(ratio: number): string;
  /** Date and time to the second, in the time zone of the browser. */
  instant(at: string): string;
  /** The date of an instant in a time zone; in that of the browser if none is given. */
  day(at: string, timezone?: string): string;
  time(at: string): string;
  /** `in 3 hours`, `2 minutes ago`. */
  relative(at: string, nowMs: number): string;
  duration(ms: number): string;
  bytes(size: number): string;
}

/** The format of a language. All components share it: making formatters takes longer than drawing a table with them. */
export function useFormat(): Format {
  const { language } = useLanguage();
  return formats[language];
}

const formats: Readonly<Record<Language, Format>> = { en: formatOf(LOCALES.en), zh: formatOf(LOCALES.zh) };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function formatOf(locale: string): Format {
  const number = once(() => new Intl.NumberFormat(locale));
  // As vendors of models write it in all languages, `1M`: neither `1m`, which is British, nor `100万`.
  const compact = once(() => new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 }));
  const percent = once(() => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 }));
  const instant = once(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }));
  const day = once(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }));
  const time = once(() => new Intl.DateTimeFormat(locale, { timeStyle: 'short' }));
  const relative = once(() => new Intl.RelativeTimeFormat(locale, { numeric: 'always' }));
  const unit = (name: string, digits = 0) =>
    once(
      () =>
        new Intl.NumberFormat(locale, {
          style: 'unit',
          unit: name,
          unitDisplay: 'short',
          maximumFractionDigits: digits,
        }),
    );
  const milliseconds = unit('millisecond');
  const seconds = unit('second', 1);
  const kilobytes = unit('kilobyte', 1);
  const megabytes = unit('megabyte', 1);

  return {
    yuan: (amount, isShort = false) => writeYuan(amount, isShort, number()),
    count: (value) => number().format(value),
    shortCount: (value) => compact().format(value),
    exactCount: (value) => (value === Number(value.toPrecision(3)) ? compact().format(value) : number().format(value)),
    percent: (ratio) => percent().format(ratio),
    instant: (at) => instant().format(new Date(at)),
    day: (at, timezone) =>
      (timezone === undefined
        ? day()
        : new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: timezone })
      ).format(new Date(at)),
    time: (at) => time().format(new Date(at)),
    relative(at, nowMs) {
      const ms = Date.parse(at) - nowMs;
      const size = Math.abs(ms);
      if (size < HOUR_MS) return relative().format(Math.round(ms / MINUTE_MS), 'minute');
      if (size < 2 * DAY_MS) return relative().format(Math.round(ms / HOUR_MS), 'hour');
      return relative().format(Math.round(ms / DAY_MS), 'day');
    },
    duration: (ms) => (ms < 1000 ? milliseconds().format(ms) : seconds().format(ms / 1000)),
    bytes: (size) => (size < 1024 * 1024 ? kilobytes().format(size / 1024) : megabytes().format(size / 1024 / 1024)),
  };
}

/** Makes something when it is first wanted. */
function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}

/** The text of an amount is never turned into a floating point number: money is shown as it is. */
function writeYuan(amount: string, isShort: boolean, number: Intl.NumberFormat): string {
  const [, sign = '', whole = '0', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const shown = (isShort ? decimals.slice(0, visibleDecimals(whole, decimals)) : decimals).padEnd(2, '0');
  return `${sign === '' ? '' : '−'}¥${number.format(BigInt(whole))}.${shown}`;
}

/** Two; more if all of these are zero, so that a small charge does not look like none. */
function visibleDecimals(whole: string, decimals: string): number {
  if (whole !== '0') return 2;
  const first = decimals.search(/[1-9]/);
  return first < 2 ? 2 : first + 2;
}
