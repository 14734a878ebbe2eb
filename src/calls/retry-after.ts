import type { LocalTime } from '../accounting/pricing/local-time.ts';

/** Longer waits are stated only in the error message: agents would wait for `Retry-After` without telling their user. */
const STATED_SECONDS_MAX = 60;

/** `Retry-After` in seconds, at least 1; omitted for a long wait. */
export function retryAfter(untilMs: number, nowMs: number): { readonly 'retry-after'?: string } {
  const seconds = Math.max(Math.ceil((untilMs - nowMs) / 1_000), 1);
  return seconds > STATED_SECONDS_MAX ? {} : { 'retry-after': String(seconds) };
}

export const SOON = { 'retry-after': '2' };

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/**
 * Such as `This quota is exhausted and will reset at 2026-11-22 05:13 +08:00, in 4 h 58 min.` The words quota, exhausted and reset tell
 * Qwen Code not to retry.
 */
export function quotaReset(atMs: number, nowMs: number, localTime: LocalTime): string {
  return `This quota is exhausted and will reset at ${whenText(atMs, nowMs, localTime)}.`;
}

/** The instant and the wait are rounded up to minutes. */
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
