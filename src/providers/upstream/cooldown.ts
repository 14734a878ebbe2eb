import type { IncomingHttpHeaders } from 'node:http';

export const COOLDOWN_MS_MAX = 60_000;
const DEFAULT_COOLDOWN_MS = 1_000;
export const DEFAULT_COOLDOWN_MS_MAX = 30_000;

/** A time in which a credential is not used for a model if another one is available. */
export interface Cooldown {
  readonly fromMs: number;
  readonly untilMs: number;
  /** The length that the gateway chose; 0 if the provider requested the cooldown. */
  readonly defaultMs: number;
}

/** A response with status 429. `requestedMs` is the wait that the provider asks for; `null`: none. */
export interface RateLimit {
  readonly sentAtMs: number;
  readonly atMs: number;
  readonly requestedMs: number | null;
}

/** Starts a cooldown. If the provider asks for no wait, it is short, or twice the previous one if that ended less than a minute ago. */
export function cooldownAfter({ sentAtMs, atMs, requestedMs }: RateLimit, before: Cooldown | undefined): Cooldown {
  if (requestedMs !== null) {
    return { fromMs: atMs, untilMs: atMs + Math.min(requestedMs, COOLDOWN_MS_MAX), defaultMs: 0 };
  }
  if (before !== undefined && sentAtMs < before.fromMs) return before;
  const again = before !== undefined && isRemembered(before, atMs) ? before.defaultMs * 2 : 0;
  const defaultMs = Math.min(Math.max(again, DEFAULT_COOLDOWN_MS), DEFAULT_COOLDOWN_MS_MAX);
  return { fromMs: atMs, untilMs: atMs + defaultMs, defaultMs };
}

/** Whether a cooldown is active or still determines the length of the next one. */
export function isRemembered({ untilMs, defaultMs }: Cooldown, nowMs: number): boolean {
  return nowMs < (defaultMs === 0 ? untilMs : untilMs + COOLDOWN_MS_MAX);
}

/** Whether a success ends a cooldown: only of a call sent after its start, and only if the gateway chose its length. */
export function endsCooldown({ fromMs, defaultMs }: Cooldown, sentAtMs: number): boolean {
  return defaultMs > 0 && sentAtMs >= fromMs;
}

/** Reads `retry-after-ms` or `retry-after` (seconds or a date); 0 if the date is in the past; `null` if there is none. */
export function requestedCooldownMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = readNumber(headers['retry-after-ms']);
  if (ms !== null) return ms;
  const after = headers['retry-after'];
  const seconds = readNumber(after);
  if (seconds !== null) return seconds * 1000;
  // Only text with a colon is treated as a date: `Date.parse` would also accept numbers and words.
  const remainingMs = after?.includes(':') === true ? Date.parse(after) - nowMs : Number.NaN;
  return Number.isNaN(remainingMs) ? null : Math.max(remainingMs, 0);
}

function readNumber(text: string | string[] | undefined): number | null {
  return typeof text === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}
