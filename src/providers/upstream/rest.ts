import type { IncomingHttpHeaders } from 'node:http';

export const COOLDOWN_MS_MAX = 60_000;
/** Initial and maximum cooldown after a 429 without a requested time. */
const DEFAULT_COOLDOWN_MS = 1_000;
export const DEFAULT_COOLDOWN_MS_MAX = 30_000;

/** A period in which a credential is not used for a model if there is an alternative. */
export interface Cooldown {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Its length if the provider requested none, otherwise 0. */
  readonly defaultMs: number;
}

/** A 429 response: when its request was sent, when it arrived, and the cooldown that the provider requests. */
export interface RateLimit {
  readonly sentAtMs: number;
  readonly atMs: number;
  readonly requestedMs: number | null;
}

/**
 * Computes the cooldown after a 429. Without a requested time it is short, and twice as long as the previous one if that ended less than a minute
 * ago. Calls that were in flight when a cooldown began do not extend it.
 */
export function cooldownAfter({ sentAtMs, atMs, requestedMs }: RateLimit, before: Cooldown | undefined): Cooldown {
  if (requestedMs !== null) {
    return { fromMs: atMs, untilMs: atMs + Math.min(requestedMs, COOLDOWN_MS_MAX), defaultMs: 0 };
  }
  if (before !== undefined && sentAtMs < before.fromMs) return before;
  const again = before !== undefined && isRemembered(before, atMs) ? before.defaultMs * 2 : 0;
  const defaultMs = Math.min(Math.max(again, DEFAULT_COOLDOWN_MS), DEFAULT_COOLDOWN_MS_MAX);
  return { fromMs: atMs, untilMs: atMs + defaultMs, defaultMs };
}

/** Whether a cooldown is still relevant: it is active, or the length of the next one depends on it. */
export function isRemembered({ untilMs, defaultMs }: Cooldown, nowMs: number): boolean {
  return nowMs < (defaultMs === 0 ? untilMs : untilMs + COOLDOWN_MS_MAX);
}

/** Whether a successful call ends a cooldown, which is only the case if the provider did not request it. */
export function endsCooldown({ fromMs, defaultMs }: Cooldown, sentAtMs: number): boolean {
  return defaultMs > 0 && sentAtMs >= fromMs;
}

/**
 * The cooldown that a provider requests with `retry-after-ms` or `retry-after` (seconds or a date), 0 if that time has passed; `null` if not
 * specified.
 */
export function requestedCooldownMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = readNumber(headers['retry-after-ms']);
  if (ms !== null) return ms;
  const after = headers['retry-after'];
  const seconds = readNumber(after);
  if (seconds !== null) return seconds * 1000;
  // Only accepts dates with a time, since `Date.parse` also accepts numbers and words.
  const restMs = after?.includes(':') === true ? Date.parse(after) - nowMs : Number.NaN;
  return Number.isNaN(restMs) ? null : Math.max(restMs, 0);
}

function readNumber(text: string | string[] | undefined): number | null {
  return typeof text === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}
