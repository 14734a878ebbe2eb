/** The calendar of one time zone: the day and the minute of the day of an instant. */
export interface LocalTime {
  /** The local date, `YYYY-MM-DD`. */
  day(epochMs: number): string;
  /** Minutes since local midnight, by the clock on the wall: 0 to 1439. */
  minuteOfDay(epochMs: number): number;
  /** A whole minute as people read it, with its distance from UTC: `2026-11-22 05:13 +08:00`. */
  instant(epochMs: number): string;
  /** The first instant of the next local day. */
  nextDayStartMs(epochMs: number): number;
  /** The first instant of a local day, `YYYY-MM-DD`; where the zone skipped that day, of the one after it. */
  dayStartMs(day: string): number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const ZONE_MINUTES_MAX = 26 * 60;

/**
 * Creates the calendar of an IANA time zone. Formatting a date costs microseconds and every call needs it, so the results for
 * the current minute and the current day are cached; offsets of time zones change on whole minutes.
 *
 * @throws RangeError if the zone is unknown.
 */
export function createLocalTime(timezone: string): LocalTime {
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

  /** A local day lasts 23 to 25 hours; searches the first minute of the next one. */
  function searchNextDayStartMs(epochMs: number, today: string): number {
    let low = Math.floor(epochMs / MINUTE_MS);
    let high = low + Math.ceil((DAY_MS + 2 * 3_600_000) / MINUTE_MS);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (localMinute(middle).day === today) low = middle;
      else high = middle;
    }
    return high * MINUTE_MS;
  }

  /** No zone is further than 26 hours from UTC. */
  function searchDayStartMs(day: string): number {
    const midnight = Date.parse(`${day}T00:00Z`) / MINUTE_MS;
    let low = midnight - ZONE_MINUTES_MAX;
    let high = midnight + ZONE_MINUTES_MAX;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (localMinute(middle).day < day) low = middle;
      else high = middle;
    }
    return high * MINUTE_MS;
  }

  return {
    day: (epochMs) => read(epochMs).day,
    minuteOfDay: (epochMs) => read(epochMs).minuteOfDay,
    instant(epochMs) {
      const { day, minuteOfDay } = read(epochMs);
      const offset = Math.round((Date.parse(`${day}T00:00Z`) - epochMs) / MINUTE_MS) + minuteOfDay;
      return `${day} ${clockText(minuteOfDay)} ${offset < 0 ? '-' : '+'}${clockText(Math.abs(offset))}`;
    },
    nextDayStartMs(epochMs) {
      const { day } = read(epochMs);
      if (day !== keptNextDay.day) keptNextDay = { day, startMs: searchNextDayStartMs(epochMs, day) };
      return keptNextDay.startMs;
    },
    dayStartMs: searchDayStartMs,
  };
}

interface LocalMinute {
  readonly day: string;
  readonly minuteOfDay: number;
}

function clockText(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
