import type { IncomingHttpHeaders } from 'node:http';
import type { Envelope } from '../errors/envelopes.ts';

/** How the server responds at addresses that no endpoint has. */
export interface UnknownAddresses {
  envelopeOf(path: string, headers: IncomingHttpHeaders): Envelope;
  messageFor(path: string, headers: IncomingHttpHeaders): string;
}

/** Returns the path of a request target, without its origin (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}
