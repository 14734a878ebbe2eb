import type { IncomingHttpHeaders } from 'node:http';
import { isPlainText, isStorable } from '../../lib/plain-text.ts';

/** Header with the user of the command line, percent-encoded. The gateway trusts it only with the local token. */
const HEADER = 'x-faregate-local-user';
const LENGTH_MAX = 100;

export function localUserHeader(name: string | null): Record<string, string> {
  return name === null ? {} : { [HEADER]: encodeURIComponent(name.slice(0, LENGTH_MAX).toWellFormed()) };
}

export function localUserOf(headers: IncomingHttpHeaders): string | null {
  const sent = headers[HEADER];
  if (typeof sent !== 'string') return null;
  try {
    const name = decodeURIComponent(sent).slice(0, LENGTH_MAX);
    return name !== '' && isPlainText(name) && isStorable(name) ? name : null;
  } catch {
    return null;
  }
}
