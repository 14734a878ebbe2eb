import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../../http/client-address.ts';
import { isSecretToken } from '../../people/secret-token.ts';

/** Browsers take a cookie of this prefix only over https, for all paths, and from the very host, not from a neighbour of it. */
const SECURE_PREFIX = '__Host-';
const NAME = 'faregate_session';

/**
 * Whether people reach the gateway by https: as the configuration says, or as a trusted proxy says of the request.
 */
export function isSecureRequest(
  { headers, socket }: IncomingMessage,
  publicUrl: string | null,
  addresses: Pick<ClientAddresses, 'ofPeer'>,
): boolean {
  if (publicUrl !== null) return publicUrl.startsWith('https:');
  const isBehindProxy = addresses.ofPeer(socket.remoteAddress) === null;
  return isBehindProxy && /^\s*https\s*(,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
}

/** The token of the session cookie; `null` if there is none. */
export function readSessionToken(request: IncomingMessage, isSecure: boolean): string | null {
  return readCookie(request, NAME, isSecure, isSecretToken);
}

/** A `Set-Cookie` that begins a session. */
export function beginCookie(token: string, isSecure: boolean, maxMs: number): string {
  return cookieHeader(NAME, token, isSecure, Math.floor(maxMs / 1000));
}

/** A `Set-Cookie` that removes it. */
export function endCookie(isSecure: boolean): string {
  return cookieHeader(NAME, '', isSecure, 0);
}

/**
 * The value of a cookie of ours; `null` if there is none that is possible. Only the name that goes with the connection counts: a
 * plain cookie may have been set by a neighbouring host.
 */
export function readCookie(
  { headers }: IncomingMessage,
  name: string,
  isSecure: boolean,
  isPossible: (value: string) => boolean,
): string | null {
  const wanted = `${nameOf(name, isSecure)}=`;
  for (const cookie of (headers.cookie ?? '').split(';')) {
    const trimmed = cookie.trim();
    if (!trimmed.startsWith(wanted)) continue;
    const value = trimmed.slice(wanted.length);
    if (isPossible(value)) return value;
  }
  return null;
}

/** A `Set-Cookie`. Scripts cannot read it, and other sites' pages do not send it with changes. */
export function cookieHeader(name: string, value: string, isSecure: boolean, maxAgeSeconds: number): string {
  const attributes = `Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return `${nameOf(name, isSecure)}=${value}; ${attributes}`;
}

function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? SECURE_PREFIX + name : name;
}
