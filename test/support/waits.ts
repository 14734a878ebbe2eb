import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';

/** A response of which only what it says of waiting is looked at. */
interface Refused {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * Asserts when a refused call may be tried again: after so many seconds, which `retry-after` says up to a minute, and above
 * it only the message, in words, and `x-faregate-reset-at`.
 */
export function assertWait({ headers, text }: Refused, seconds: number): void {
  assert.equal(headers['retry-after'], seconds <= 60 ? String(seconds) : undefined);
  assert.ok(text.includes(`, in ${inWords(seconds)}.`), text);
  const resetAt = headers['x-faregate-reset-at'];
  assert.equal(new Date(String(resetAt)).toISOString(), resetAt);
}

/** The two greatest units of a wait, each rounded up. */
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
