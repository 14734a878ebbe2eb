import type { IncomingHttpHeaders } from 'node:http';

/** The longest rest after a 429, whatever the provider says. */
export const REST_MS_MAX = 60_000;
/** The rest after a 429 that does not say how long: at first, and at most if it is met again and again. */
const UNSAID_REST_MS = 1_000;
export const UNSAID_REST_MS_MAX = 30_000;

/** A time in which a credential is not used for a model, while there is another one. */
export interface Rest {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Its length, if the provider did not say it; else 0. */
  readonly unsaidMs: number;
}

/** A 429: when its call was sent, when it came, and the rest that the provider asks for. */
export interface RateLimit {
  readonly sentAtMs: number;
  readonly atMs: number;
  /** `null`: it does not say. */
  readonly requestedMs: number | null;
}

/**
 * The rest after a 429. If the provider does not say how long, it is short, and twice as long as the one before if that
 * was over for less than a minute. Calls that were under way when a rest began met the same limit, and do not prolong it.
 */
export function restAfter({ sentAtMs, atMs, requestedMs }: RateLimit, before: Rest | undefined): Rest {
  if (requestedMs !== null) {
    return { fromMs: atMs, untilMs: atMs + Math.min(requestedMs, REST_MS_MAX), unsaidMs: 0 };
  }
  if (before !== undefined && sentAtMs < before.fromMs) return before;
  const again = before !== undefined && isRemembered(before, atMs) ? before.unsaidMs * 2 : 0;
  const unsaidMs = Math.min(Math.max(again, UNSAID_REST_MS), UNSAID_REST_MS_MAX);
  return { fromMs: atMs, untilMs: atMs + unsaidMs, unsaidMs };
}

/** Whether a rest still matters: it goes on, or the next one depends on it. */
export function isRemembered({ untilMs, unsaidMs }: Rest, nowMs: number): boolean {
  return nowMs < (unsaidMs === 0 ? untilMs : untilMs + REST_MS_MAX);
}

/** Whether a call that the provider accepted shows that a rest is needless: nobody asked for it. */
export function endsRest({ fromMs, unsaidMs }: Rest, sentAtMs: number): boolean {
  return unsaidMs > 0 && sentAtMs >= fromMs;
}

/**
 * How long a provider asks not to be called, by `retry-after-ms` and `retry-after` (seconds or a date), 0 where that time is
 * over; `null` if it does not say.
 */
export function requestedRestMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = readNumber(headers['retry-after-ms']);
  if (ms !== null) return ms;
  const after = headers['retry-after'];
  const seconds = readNumber(after);
  if (seconds !== null) return seconds * 1000;
  // A date has a time of day; `Date.parse` takes a number or a word for a date as well.
  const restMs = after?.includes(':') === true ? Date.parse(after) - nowMs : Number.NaN;
  return Number.isNaN(restMs) ? null : Math.max(restMs, 0);
}

function readNumber(text: string | string[] | undefined): number | null {
  return typeof text === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}
