import type { IncomingHttpHeaders } from 'node:http';

/**
 * How long a provider asks not to be called, by `retry-after-ms` and `retry-after` (seconds or a date); `null` where it
 * does not say, or the time is over.
 */
export function requestedRestMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = readNumber(headers['retry-after-ms']);
  if (ms !== null) return ms > 0 ? ms : null;
  const after = headers['retry-after'];
  const seconds = readNumber(after);
  const restMs = seconds === null ? Date.parse(after ?? '') - nowMs : seconds * 1000;
  return restMs > 0 ? restMs : null;
}

function readNumber(text: string | string[] | undefined): number | null {
  return typeof text === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}
