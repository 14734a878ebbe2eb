import type { IncomingHttpHeaders } from 'node:http';
import { isPlainText, isStorable } from '../../lib/plain-text.ts';

/** In which the command line of this machine says who is at it, percent-encoded. It counts with the local token alone. */
const HEADER = 'x-faregate-local-user';
const LENGTH_MAX = 100;

/** The header of a request of the command line; none if it is not known who is there. */
export function localUserHeader(name: string | null): Record<string, string> {
  return name === null ? {} : { [HEADER]: encodeURIComponent(name.slice(0, LENGTH_MAX).toWellFormed()) };
}

/** Who a request says is at the command line; `null` if it does not say so, or not so that people can read it. */
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
