import { nextDayOf } from './billing-periods.ts';

const MINUTE_MS = 60_000;
/** This is more than any UTC offset, and more than the longest day. */
const ZONE_MINUTES_MAX = 26 * 60;

export type LocalTime = ReturnType<typeof createLocalTime>;

/** Formatting takes microseconds, so the current minute and day are cached. @throws RangeError if the zone is unknown */
export function createLocalTime(timezone: string) {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  let keptMinute = Number.NaN;
  let kept: LocalMinute = { day: '', minuteOfDay: 0 };
  let keptNextDay = { day: '', startMs: 0 };

  function localMinute(minute: number): LocalMinute {
    const parts: Record<string, string> = {};
    for (const part of format.formatToParts(minute * MINUTE_MS)) parts[part.type] = part.value;
    return {
      day: `${parts.year}-${parts.month}-${parts.day}`,
      minuteOfDay: Number(parts.hour) * 60 + Number(parts.minute),
    };
  }

  function read(epochMs: number): LocalMinute {
    const minute = Math.floor(epochMs / MINUTE_MS);
    if (minute !== keptMinute) {
      kept = localMinute(minute);
      keptMinute = minute;
    }
    return kept;
  }

  /** Offset of the zone from UTC at a minute, in minutes. */
  function offsetAt(minute: number): number {
    const { day, minuteOfDay } = localMinute(minute);
    return midnightOf(day) + minuteOfDay - minute;
  }

  /** Finds the first minute of a local day by binary search. Within the range, no zone changes its clocks twice. */
  function firstMinuteOf(day: string, low: number, high: number): number {
    const offset = offsetAt(low);
    if (offset === offsetAt(high)) return midnightOf(day) - offset;
    let [before, from] = [low, high];
    while (from - before > 1) {
      const middle = Math.floor((before + from) / 2);
      if (localMinute(middle).day < day) before = middle;
      else from = middle;
    }
    return from;
  }

  function searchNextDayStartMs(epochMs: number, today: string): number {
    const now = Math.floor(epochMs / MINUTE_MS);
    return firstMinuteOf(nextDayOf(today), now, now + ZONE_MINUTES_MAX) * MINUTE_MS;
  }

  function searchDayStartMs(day: string): number {
    const midnight = midnightOf(day);
    return firstMinuteOf(day, midnight - ZONE_MINUTES_MAX, midnight + ZONE_MINUTES_MAX) * MINUTE_MS;
  }

  return {
    /** The local date, `YYYY-MM-DD`. */
    day: (epochMs: number): string => read(epochMs).day,
    /** Minutes since local midnight: 0 to 1439. */
    minuteOfDay: (epochMs: number): number => read(epochMs).minuteOfDay,
    /** Local time with offset, for display: `2026-11-22 05:13 +08:00`. */
    instant(epochMs: number): string {
      const { day, minuteOfDay } = read(epochMs);
      const offset = Math.round(midnightOf(day) - epochMs / MINUTE_MS) + minuteOfDay;
      return `${day} ${clockText(minuteOfDay)} ${offset < 0 ? '-' : '+'}${clockText(Math.abs(offset))}`;
    },
    nextDayStartMs(epochMs: number): number {
      const { day } = read(epochMs);
      if (day !== keptNextDay.day) keptNextDay = { day, startMs: searchNextDayStartMs(epochMs, day) };
      return keptNextDay.startMs;
    },
    /** The first instant of a local day. If the zone skipped that day, the first instant of the next one. */
    dayStartMs: searchDayStartMs,
  };
}

/** Midnight UTC of a day, in minutes from the epoch. */
function midnightOf(day: string): number {
  return Date.parse(`${day}T00:00Z`) / MINUTE_MS;
}

interface LocalMinute {
  readonly day: string;
  readonly minuteOfDay: number;
}

function clockText(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
