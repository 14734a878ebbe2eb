import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';

/** A response whose waiting time is checked. */
interface Refused {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * Asserts when a refused call may be retried: after this many seconds, in `retry-after` if at most a minute; above a minute only in the
 * message, in words, and in `x-faregate-reset-at`.
 */
export function assertWait({ headers, text }: Refused, seconds: number): void {
  assert.equal(headers['retry-after'], seconds <= 60 ? String(seconds) : undefined);
  assert.ok(text.includes(`, in ${inWords(seconds)}.`), text);
  const resetAt = headers['x-faregate-reset-at'];
  assert.equal(new Date(String(resetAt)).toISOString(), resetAt);
}

/** The two largest units of a duration, each rounded up. */
function inWords(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.ceil(minutes / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1_440) return words(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  return words(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function words(many: number, large: string, few: number, small: string): string {
  return few === 0 ? `${many} ${large}` : `${many} ${large} ${few} ${small}`;
}
