import type { LocalTime } from '../accounting/pricing/local-time.ts';

/**
 * The longest wait that `Retry-After` states. Agents obey any number of seconds, without a word to their user: a window that
 * is used up would silence them for hours. Longer waits stand in the message of the error.
 */
const STATED_SECONDS_MAX = 60;

/** `Retry-After` of a refusal: seconds until the limit frees, rounded up, at least 1; none if the wait is long. */
export function retryAfter(untilMs: number, nowMs: number): { readonly 'retry-after'?: string } {
  const seconds = Math.max(Math.ceil((untilMs - nowMs) / 1_000), 1);
  return seconds > STATED_SECONDS_MAX ? {} : { 'retry-after': String(seconds) };
}

/** `Retry-After` at a concurrency limit: a call ends within seconds or minutes, at an unknown time. */
export const SOON = { 'retry-after': '2' };

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/**
 * Says when a limit has room again, and how long that is from now, such as `This quota is exhausted and will reset at
 * 2026-11-22 05:13 +08:00, in 4 h 58 min.` By the words quota, exhausted and reset Qwen Code knows that it need not try again.
 */
export function quotaReset(atMs: number, nowMs: number, localTime: LocalTime): string {
  return `This quota is exhausted and will reset at ${whenText(atMs, nowMs, localTime)}.`;
}

/** An instant and how long that is from now, both rounded up to minutes. */
export function whenText(atMs: number, nowMs: number, localTime: LocalTime): string {
  const at = Math.ceil(atMs / MINUTE_MS) * MINUTE_MS;
  return `${localTime.instant(at)}, in ${waitText(atMs - nowMs)}`;
}

function waitText(waitMs: number): string {
  const minutes = Math.max(Math.ceil(waitMs / MINUTE_MS), 1);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < DAY_MINUTES) return twoUnits(minutes, 60, 'h', 'min');
  return twoUnits(Math.ceil(minutes / 60), 24, 'd', 'h');
}

function twoUnits(count: number, size: number, large: string, small: string): string {
  const rest = count % size;
  return `${Math.floor(count / size)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}
