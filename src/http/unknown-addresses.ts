import type { IncomingHttpHeaders } from 'node:http';
import type { Envelope } from '../errors/envelopes.ts';

/** What the server says at addresses that no endpoint has. */
export interface UnknownAddresses {
  envelopeOf(path: string, headers: IncomingHttpHeaders): Envelope;
  /** The message of the 404. */
  messageFor(path: string, headers: IncomingHttpHeaders): string;
}

/** A target without the origin that it may begin with (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}
